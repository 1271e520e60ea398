/**
 * Lets work continue after the request is answered, as the real server's controllers do. Prints errors of the work,
 * because no answer can report these errors.
 */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
