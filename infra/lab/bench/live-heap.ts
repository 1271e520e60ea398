/** How much of a V8 heap is alive, from what V8 itself says of its collections (--trace-gc). */

/** What was left by a full collection; lesser ones leave garbage. */
const FULL = /Mark-Compact .*? -> (\d+(?:\.\d+)?) \(.*?\) MB/;

/** In MiB, V8's unit, which it calls MB; undefined for any other line. */
export function liveHeapMiB(line: string): number | undefined {
  const left = FULL.exec(line)?.[1];
  return left === undefined ? undefined : Number(left);
}
