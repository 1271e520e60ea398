import { CONFIGURATION } from "../policy/names.ts";
import { readOne, unlessNotServed } from "../kube/read.ts";
import { LifeboatConfiguration } from "../kube/schemas/lifeboat.ts";
import type { Send } from "../kube/transport.ts";

const RESOURCE = "lifeboatconfigurations";

export function readConfiguration(send: Send) {
  const reading = readOne(send, RESOURCE, { namespace: "", name: CONFIGURATION }, LifeboatConfiguration);
  return unlessNotServed(send, RESOURCE, reading);
}
