/** What the server does by itself after an answer, as the real one's controllers do: if it fails, it harms no request. */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
