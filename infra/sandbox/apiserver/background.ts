/** Continues with work after the request is answered. Prints its errors, because the client no longer waits. */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
