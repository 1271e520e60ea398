/** The seconds since something began, as the tools print them before what happens. */
export interface TimeLine {
  readonly milliseconds: () => number;
  readonly seconds: () => number;
  /** Begins a line. */
  readonly stamp: () => string;
}

export function startTimeLine(milliseconds = since(performance.now())): TimeLine {
  const seconds = () => Math.round(milliseconds() / 1000);
  return { milliseconds, seconds, stamp: () => `${(milliseconds() / 1000).toFixed(1).padStart(5)} s  ` };
}

function since(begin: number): () => number {
  return () => performance.now() - begin;
}
