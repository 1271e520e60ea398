/** Starts work after an answer, as the real server's controllers do. A failure affects no request. */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
