/** Starts work after an answer, as the real server's controllers do. A failure of the work affects no request. */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
