/**
 * A code that signs in once, for a page that is shown to a person who starts it: `npm start`.
 * Owns: its form and end, and that this isolate takes it once. Does not own: what it opens (proof.ts).
 *
 * It is signed with the cluster's operator token, so that only a holder of that can make one. Which ones were used is remembered in
 * this isolate only: in a deployment with several isolates, each could take it once within its ten minutes.
 */
import * as z from "zod/mini";
import { type Doors, isSigned, readUnchecked, sign } from "./signed.ts";

const LIFE_SECONDS = 600;
const PREFIX = "once.";

const Fields = z.lazy(() => z.tuple([z.string(), z.number(), z.string()]));

export interface Code {
  readonly cluster: string;
  readonly signed: string;
  readonly nonce: string;
  /** Seconds since the epoch. */
  readonly until: number;
}

export async function newSignInCode(cluster: string, entry: Doors, now: Date): Promise<string> {
  const until = Math.floor(now.getTime() / 1000) + LIFE_SECONDS;
  return `${PREFIX}${await sign("sign-in-code", [cluster, until, crypto.randomUUID().slice(0, 18)], entry)}`;
}

/** Undefined: it is none. What it says is not checked yet. */
export function parseCode(text: string): Code | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const signed = text.slice(PREFIX.length);
  const fields = Fields.safeParse(readUnchecked(signed));
  if (!fields.success) return undefined;
  const [cluster, until, nonce] = fields.data;
  return { cluster, signed, nonce, until };
}

export class UsedCodes {
  /** Until when each would count. */
  readonly #used = new Map<string, number>();

  /** Whether it counts; from then on it does not. */
  async take({ signed, nonce, until }: Code, entry: Doors, now: Date): Promise<boolean> {
    const seconds = now.getTime() / 1000;
    for (const [other, end] of this.#used) if (end <= seconds) this.#used.delete(other);
    if (until <= seconds || !(await isSigned("sign-in-code", signed, entry)) || this.#used.has(nonce)) return false;
    this.#used.set(nonce, until);
    return true;
  }
}
