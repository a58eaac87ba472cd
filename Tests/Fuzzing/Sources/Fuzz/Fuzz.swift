// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CFuzzSupport
import Glibc

/// The target that this process fuzzes, from the environment variable `FUZZ_TARGET`.
///
/// An environment variable, because libFuzzer starts itself again for some tasks and then passes only its own
/// arguments. Unsafe, because libFuzzer calls this file's functions on one thread only.
nonisolated(unsafe) private var target = Target.all[0]

/// Selects the target. libFuzzer calls this once, before the first input.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if name == "list" {
        for target in Target.all { print(target.name) }
        exit(0)
    }
    guard let chosen = Target.all.first(where: { $0.name == name }) else {
        report("FUZZ_TARGET is '\(name)', which is no target. Scripts/fuzz --list prints the targets.")
        exit(64)
    }
    target = chosen
    return 0
}

/// Runs the target with one input, and checks the bounds of memory and time that hold for all targets.
@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    let before = fuzz_heap_bytes()
    fuzz_heap_reset_peak()
    let began = processorTime()
    target.run(input)
    let seconds = processorTime() - began
    let used = fuzz_heap_peak() - before
    let limit = target.heapLimit(input.count)
    if used > limit { broken("\(used) bytes of memory were used for an input of \(count); the limit is \(limit)") }
    if seconds > 2 { broken("an input of \(count) bytes took \(seconds) s of processor time") }
    if fuzz_heap_bytes() > before { checkForLeak(input) }
    return 0
}

/// The number of further runs that must all leave memory allocated before it counts as a leak.
private let leakRuns = 24

/// Runs the target again with an input that has left memory allocated.
///
/// The first run may have filled a cache. An input that leaves memory allocated in each of many runs leaks it.
private func checkForLeak(_ input: [UInt8]) {
    let before = fuzz_heap_bytes()
    for _ in 0..<leakRuns {
        let begin = fuzz_heap_bytes()
        target.run(input)
        guard fuzz_heap_bytes() > begin else { return }
    }
    broken("each run leaves memory allocated: \(fuzz_heap_bytes() - before) bytes after \(leakRuns) runs")
}

private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Mutates an input: the commands of a target that has some, otherwise the bytes.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ maxCount: Int, _ seed: UInt32) -> Int {
    var random = SplitMix64(state: UInt64(seed))
    // Every other mutation is libFuzzer's own, which also uses the dictionary and the compared values of the code.
    guard let mutate = target.mutate, !random.next().isMultiple(of: 2) else {
        return LLVMFuzzerMutate(start, count, maxCount)
    }
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    guard let mutated = mutate(input, &random), mutated.count <= maxCount else {
        return LLVMFuzzerMutate(start, count, maxCount)
    }
    for (index, byte) in mutated.enumerated() { start[index] = byte }
    return mutated.count
}

/// Ends the process, because the input broke a rule. libFuzzer then stores the input.
func broken(_ rule: @autoclosure () -> String) -> Never {
    report("BROKEN RULE: \(rule())")
    abort()
}

/// Prints a line to standard error.
private func report(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}

/// Ends the process unless the condition holds.
@inline(__always)
func require(_ condition: Bool, _ rule: @autoclosure () -> String) {
    if !condition { broken(rule()) }
}
