/**
 * Continues work after an answer, as the real server's controllers do. Prints an error of the work, because no request
 * can report the error.
 */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
