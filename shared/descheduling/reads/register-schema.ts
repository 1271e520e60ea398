/**
 * The descheduling register, parsed from its ConfigMap.
 * Owns: its JSON. Does not own: its meaning (cycle/register.ts). A text that does not parse counts as empty: the next
 * write replaces it, if it is still the same.
 */
import * as z from "zod/mini";
import { EVICTION_OUTCOMES } from "../cycle/eviction-answer.ts";
import { type DeschedulingRegister, EMPTY_REGISTER } from "../cycle/register.ts";
import { DESCHEDULING_KEY } from "../../policy/names.ts";
import type { ConfigMapFacts } from "../../cluster/kinds/kubernetes.ts";

const Register = z.lazy(() =>
  z.object({
    revision: z.int().check(z.nonnegative()),
    lastCycle: z.exactOptional(z.string()),
    reservations: z.array(
      z.object({ namespace: z.string(), name: z.string(), uid: z.string(), node: z.string(), at: z.string() }),
    ),
    counts: z.array(
      z.object({
        profile: z.string(),
        plugin: z.string(),
        result: z.enum(EVICTION_OUTCOMES),
        count: z.int().check(z.nonnegative()),
      }),
    ),
  }),
);

export function deschedulingRegisterOf(configMap: ConfigMapFacts | undefined): DeschedulingRegister {
  if (configMap === undefined) return { ...EMPTY_REGISTER, found: { found: "Nothing" } };
  const { resourceVersion, data } = configMap;
  const text = data[DESCHEDULING_KEY];
  if (text === undefined) return { ...EMPTY_REGISTER, found: { found: "Empty", resourceVersion } };
  const parsed = Register.safeParse(parseJson(text));
  return { ...(parsed.success ? parsed.data : EMPTY_REGISTER), found: { found: "Text", text } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
