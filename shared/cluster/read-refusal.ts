/** The Events by which virt-handler tells that the shield has refused a shutdown. */
import * as z from "zod/mini";
import type { VmiFacts } from "../policy/facts.ts";
import { SHIELD_PLUGIN } from "../policy/names.ts";
import type { Refusal } from "../policy/shield/shield.ts";
import { Page, Text } from "./kinds/fields.ts";
import { collection } from "./paths.ts";
import { parseAnswer } from "./read.ts";
import type { Send } from "./transport.ts";

const FORBIDDEN = 403;
/** virt-handler repeats one Event; others of the same reason are few. */
const SAMPLE = "50";

const SyncFailed = z.object({ message: Text, firstTimestamp: Text, lastTimestamp: Text });

export async function readRefusal(send: Send, { namespace, uid }: VmiFacts): Promise<Refusal | "Unknown" | undefined> {
  const path = collection("events", namespace);
  const query = { fieldSelector: `involvedObject.uid=${uid},reason=SyncFailed`, limit: SAMPLE };
  const { code, body } = await send({ method: "GET", path, query, expect: [FORBIDDEN] });
  if (code === FORBIDDEN) return "Unknown";
  const told = parseAnswer(Page, body, `GET ${path}`).items.flatMap((item) => {
    const { data } = SyncFailed.safeParse(item);
    return data?.message?.includes(`plugin ${SHIELD_PLUGIN}`) === true ? [data] : [];
  });
  const times = told.flatMap(({ firstTimestamp, lastTimestamp }) => {
    const [first, last] = [firstTimestamp, lastTimestamp].map((time) => Date.parse(time ?? ""));
    return first && last ? [{ first, last }] : [];
  });
  if (times.length === 0) return told.length === 0 ? undefined : "Unknown";
  return {
    first: Math.min(...times.map(({ first }) => first)),
    last: Math.max(...times.map(({ last }) => last)),
  };
}
