/**
 * Runs work after a request is answered, as the real server's controllers do. Prints the work's errors, which no answer
 * can report.
 */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
