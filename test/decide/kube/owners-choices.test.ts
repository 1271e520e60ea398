/** Tests how Lifeboat reads the annotations by which an owner decides what happens to a VM that cannot migrate. */
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { VirtualMachine } from "../../../shared/kube/schemas/lifeboat.ts";

// prettier-ignore
test.each([
  // lifeboat.dev/when-blocked  is read as
  [undefined,                   undefined ],
  ["Wait",                      "Wait"    ],
  ["Restart",                   "Restart" ],
  ["ShutDown",                  "ShutDown"],
  ["restart",                   "Wait"    ],
  ["",                          "Wait"    ],
])("the annotation when-blocked: %s is read as %s", (word, whenBlocked) => {
  const annotations = word === undefined ? {} : { "lifeboat.dev/when-blocked": word };
  const metadata = { namespace: "apps", name: "web", uid: "1", resourceVersion: "1", annotations };
  expect(z.parse(VirtualMachine, { metadata, spec: {} }).whenBlocked).toBe(whenBlocked);
});
