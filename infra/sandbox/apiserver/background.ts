/**
 * Starts work that the server does after an answer, as the real server's controllers do. Its failure affects no
 * request.
 */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
