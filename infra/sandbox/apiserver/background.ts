/** Starts work after an answer, as the real server's controllers do. If the work fails, no request fails. */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
