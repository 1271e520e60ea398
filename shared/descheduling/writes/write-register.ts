/**
 * Writing the descheduling register by compare-and-set.
 * Owns: the request. Does not own: its meaning (cycle/register.ts), reading it (reads/register-schema.ts).
 */
import { createConfigMap } from "../../cluster/act.ts";
import { type Operation, pointer, test } from "../../cluster/patches.ts";
import { object } from "../../cluster/paths.ts";
import type { Send } from "../../cluster/transport.ts";
import { type ActResult, patch } from "../../cluster/write.ts";
import { DESCHEDULING_CONFIG_MAP, DESCHEDULING_KEY, LIFEBOAT_NAMESPACE } from "../../policy/names.ts";
import { type DeschedulingRegister, type Found, registerText } from "../cycle/register.ts";

/** Tests the text that was read: a cycle knows the text it wrote last without reading it again. */
export async function writeRegister(send: Send, found: Found, register: DeschedulingRegister): Promise<ActResult> {
  const text = registerText(register);
  const data = { [DESCHEDULING_KEY]: text };
  if (found.found === "Nothing") return await createConfigMap(DESCHEDULING_CONFIG_MAP, data, send);
  const path = object("configmaps", { namespace: LIFEBOAT_NAMESPACE, name: DESCHEDULING_CONFIG_MAP });
  const key = pointer("data", DESCHEDULING_KEY);
  const body: readonly Operation[] =
    found.found === "Text"
      ? [test(key, found.text), { op: "add", path: key, value: text }]
      : [test("/metadata/resourceVersion", found.resourceVersion), { op: "add", path: "/data", value: data }];
  return await patch(send, path, body);
}
