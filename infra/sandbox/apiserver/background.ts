/** Continues with `work` after the request is answered. Prints the errors of `work`, because no client waits for it. */
export function inBackground(work: Promise<unknown>): void {
  work.catch((error: unknown) => console.error(error));
}
