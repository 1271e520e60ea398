/** Starts a clock for the elapsed seconds in the output of tools. */
export function startTimeLine() {
  const begin = performance.now();
  const milliseconds = () => performance.now() - begin;
  const seconds = () => Math.round(milliseconds() / 1000);
  return { milliseconds, seconds, stamp: () => `${(milliseconds() / 1000).toFixed(1).padStart(5)} s  ` };
}
