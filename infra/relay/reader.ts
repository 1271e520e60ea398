/**
 * From an object as it travels to what we keep of it.
 * Owns: an odd object hides no other one. Does not own: the schemas (watched/).
 */
import { type Log, reasonOf } from "./log.ts";
import type { Seen, WatchedKind } from "./watched/kind.ts";

export function createReader<Facts>(
  { read }: Pick<WatchedKind<Facts>, "read">,
  log: Log,
): (object: unknown) => Seen<Facts> | undefined {
  return (object) => {
    try {
      return read(object);
    } catch (error) {
      log("error", "left out an object that is not as expected", { reason: reasonOf(error) });
      return undefined;
    }
  };
}
