// The ArrayBuffer allocator: counted per isolate, pooled per process.
#include <cstring>

#include "instance.h"

namespace edge {
namespace {

constexpr size_t kMinShift = 10;  // 1 KiB
constexpr size_t kMaxShift = 18;  // 256 KiB
constexpr size_t kClasses = kMaxShift - kMinShift + 1;
constexpr size_t kPooledBytes = 4 << 20;  // kept per class

std::atomic<int64_t> g_live{0};

// Free blocks of the process by size class. Memory in it holds old contents: it
// is only handed out where every byte is overwritten, or cleared.
class Pool {
 public:
  static size_t Class(size_t n) {
    size_t c = 0;
    while ((size_t{1} << (kMinShift + c)) < n) c++;
    return c;
  }
  void* Get(size_t n) {
    size_t c = Class(n);
    {
      std::lock_guard<std::mutex> lock(mu_[c]);
      if (!free_[c].empty()) {
        void* p = free_[c].back();
        free_[c].pop_back();
        return p;
      }
    }
    return base_->AllocateUninitialized(size_t{1} << (kMinShift + c));
  }
  void Put(void* p, size_t n) {
    size_t c = Class(n);
    size_t size = size_t{1} << (kMinShift + c);
    {
      std::lock_guard<std::mutex> lock(mu_[c]);
      if ((free_[c].size() + 1) * size <= kPooledBytes) {
        free_[c].push_back(p);
        return;
      }
    }
    base_->Free(p, size);
  }
  v8::ArrayBuffer::Allocator* base() { return base_; }

 private:
  v8::ArrayBuffer::Allocator* base_ =
      v8::ArrayBuffer::Allocator::NewDefaultAllocator();
  std::mutex mu_[kClasses];
  std::vector<void*> free_[kClasses];
};

Pool& ThePool() {
  static Pool* pool = new Pool;
  return *pool;
}

bool Pooled(size_t n) {
  return n > (size_t{1} << (kMinShift - 1)) && n <= (size_t{1} << kMaxShift);
}

}  // namespace

bool CountingAllocator::Take(size_t n) {
  int64_t size = static_cast<int64_t>(n);
  if (used_.fetch_add(size, std::memory_order_relaxed) + size > limit_) {
    used_.fetch_sub(size, std::memory_order_relaxed);
    return false;
  }
  g_live.fetch_add(size, std::memory_order_relaxed);
  return true;
}

void* CountingAllocator::AllocateUninitialized(size_t n) {
  if (!Take(n)) return nullptr;
  void* p = Pooled(n) ? ThePool().Get(n) : ThePool().base()->AllocateUninitialized(n);
  if (p == nullptr) {
    used_.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
    g_live.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
  }
  return p;
}

void* CountingAllocator::Allocate(size_t n) {
  if (!Pooled(n)) {
    if (!Take(n)) return nullptr;
    void* p = ThePool().base()->Allocate(n);
    if (p == nullptr) {
      used_.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
      g_live.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
    }
    return p;
  }
  void* p = AllocateUninitialized(n);
  if (p != nullptr) memset(p, 0, n);
  return p;
}

void CountingAllocator::Free(void* p, size_t n) {
  used_.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
  g_live.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed);
  if (Pooled(n)) {
    ThePool().Put(p, n);
  } else {
    ThePool().base()->Free(p, n);
  }
}

}  // namespace edge

int64_t edge_isolate_live(void) {
  return edge::g_live.load(std::memory_order_relaxed);
}
