// A pointer for each thread, which is released when the thread exits.
//
// A thread_local object with a destructor is not used instead: at its first use in a thread, glibc
// allocates memory to register the destructor, and ends the process if there is none. An object of
// this class reports that.
//
// Threads: any. Ownership: the pointer of the main thread is not released when the process exits.
//
// Example:
//
//   static const ThreadPointer<Stream, &free_stream> stream;
//   if (!stream.get() && !stream.set(make_stream())) ...

#pragma once

#include <pthread.h>

namespace ctprof {

template <class T, auto kRelease>
class ThreadPointer {
 public:
  ThreadPointer() : has_key_(::pthread_key_create(&key_, &release) == 0) {}
  ThreadPointer(const ThreadPointer&) = delete;
  ThreadPointer& operator=(const ThreadPointer&) = delete;

  // Returns null if this thread has not set a pointer.
  T* get() const { return has_key_ ? static_cast<T*>(::pthread_getspecific(key_)) : nullptr; }
  // Returns false, and does not take the pointer, for lack of memory or if the process has too many
  // such objects. It is not released before the thread exits.
  bool set(T* pointer) const { return has_key_ && ::pthread_setspecific(key_, pointer) == 0; }

 private:
  static void release(void* pointer) { kRelease(static_cast<T*>(pointer)); }

  pthread_key_t key_{};
  bool has_key_;
};

}  // namespace ctprof
