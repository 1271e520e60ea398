import type { ActResult } from "../pass/act.ts";
import type { Send } from "../kube/transport.ts";

export type { ActResult };

const CHANGED: Readonly<Record<number, ActResult>> = { 404: "Conflict", 409: "Conflict", 422: "Conflict" };

export async function patch(send: Send, path: string, body: unknown, meanings = CHANGED): Promise<ActResult> {
  const { code } = await send({ method: "PATCH", path, body, expect: Object.keys(meanings).map(Number) });
  return meanings[code] ?? "Done";
}
