/** The body of a review: read only once its sender is known, and as far as there is room for it. */
import type { Context } from "hono";
import type { Held } from "../shared/kube/budget.ts";
import { RejectionError } from "./rejection.ts";

/** An API server puts the uid at the beginning. Without it no answer would count. */
const BEGINNING_BYTES = 1024;

/** `Busy`: there is no room, and nothing but the uid was read. */
export type ReviewBody = { readonly text: string } | { readonly reason: "Busy"; readonly uid: string };

export async function readReview(c: Context, held: Held, most: number): Promise<ReviewBody> {
  if (Number(c.req.header("content-length") ?? 0) > most) throw tooLarge(most);
  const decoder = new TextDecoder();
  let [text, bytes, hasRoom] = ["", 0, true];
  for await (const chunk of chunksOf(c.req.raw)) {
    bytes += chunk.byteLength;
    if (bytes > most) throw tooLarge(most);
    hasRoom &&= held.take(chunk.byteLength);
    text += decoder.decode(chunk, { stream: true });
    if (!hasRoom && bytes >= BEGINNING_BYTES) break;
  }
  return hasRoom ? { text: text + decoder.decode() } : { reason: "Busy", uid: uidIn(text) };
}

async function* chunksOf({ body }: Request): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) return;
      yield value;
    }
  } finally {
    await reader?.cancel();
  }
}

function tooLarge(most: number): RejectionError {
  return new RejectionError("PayloadTooLarge", { message: `expected a body of at most ${most} bytes` });
}

function uidIn(text: string): string {
  const [, uid] = /"request"\s*:\s*\{\s*"uid"\s*:\s*"([\w-]{1,256})"/.exec(text) ?? [];
  if (uid === undefined) throw new RejectionError("Busy");
  return uid;
}
