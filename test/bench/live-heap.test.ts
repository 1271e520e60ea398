/** Lines of V8's --trace-gc, as workerd prints them between others. */
import { expect, test } from "vitest";
import { liveHeapMiB } from "../../infra/bench/live-heap.ts";

// prettier-ignore
test.each([
  ["[18:0x71d9]  846 ms: Mark-Compact 54.5 (71.5) -> 47.1 (64.2) MB, pooled: 0.0 MB, 361.61 / 0.00 ms  (average mu = 0.572) testing; GC in old space requested", 47.1],
  ["[18:0x71d9]  846 ms: Mark-Compact (reduce) 54.5 (71.5) -> 47 (64.2) MB, pooled: 0.0 MB, 361.61 / 0.00 ms",                                                   47],
  ["[18:0x71d9]  214 ms: Scavenge 3.6 (5.4) -> 3.2 (6.0) MB, pooled: 0.0 MB, 2.86 / 0.00 ms  (average mu = 1.000) allocation failure;",                           undefined],
  ['{"door":"deschedule","cluster":"bench","ended":"Finished"}',                                                                                                  undefined],
])("%s", (line, expected) => expect(liveHeapMiB(line)).toBe(expected));
