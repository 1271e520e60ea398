/** The shape of a part of the benchmark. */
import type { Measurement } from "./measurement.ts";

export interface PartOptions {
  readonly quick: boolean;
  /** Says what is being done: a part takes minutes. */
  readonly note: (line: string) => void;
}

/** Rejects if something does not work; slowness is a result like any other. */
export type RunPart = (options: PartOptions) => Promise<readonly Measurement[]>;
