;; The greatest common divisor, by Euclid. It needs no memory.
(module
  (func (export "gcd") (param $a i32) (param $b i32) (result i32)
    (local $rest i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $b)))
        (local.set $rest (i32.rem_u (local.get $a) (local.get $b)))
        (local.set $a (local.get $b))
        (local.set $b (local.get $rest))
        (br $next)))
    (local.get $a)))
