;; FNV-1a over bytes of the memory.
(module
  (memory (export "memory") 1)
  (func (export "fnv1a") (param $at i32) (param $length i32) (result i32)
    (local $hash i32)
    (local $end i32)
    (local.set $hash (i32.const 0x811c9dc5))
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $hash
          (i32.mul
            (i32.xor (local.get $hash) (i32.load8_u (local.get $at)))
            (i32.const 0x01000193)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (local.get $hash)))
