/** What a fake cluster keeps of what is created. */
import * as z from "zod/mini";
import type { Answer, Manifest } from "../../../shared/kube/client.ts";
import { Budget } from "../../../shared/kube/schemas/kubernetes.ts";
import { Migration } from "../../../shared/kube/schemas/kubevirt.ts";
import { Evacuation } from "../../../shared/kube/schemas/lifeboat.ts";
import { isFinal } from "../../../shared/kube/facts.ts";
import { vmiNameOf } from "../../../shared/kube/pod-kind.ts";
import { DESCHEDULER, REQUESTED_BY_ANNOTATION } from "../../../shared/kube/names.ts";
import { budget, without } from "../fixtures.ts";
import { answer } from "./answer.ts";
import type { FakeCluster } from "./fake-cluster.ts";
import { reviewEviction } from "./fake-virt-api.ts";

const KIND = z.enum(["VirtualMachineInstance", "Pod", "ConfigMap", "ValidatingWebhookConfiguration"]);
const Event = z.object({
  metadata: z.object({ name: z.string() }),
  involvedObject: z.object({ kind: KIND, namespace: z._default(z.string(), ""), name: z.string(), uid: z.string() }),
  type: z.enum(["Normal", "Warning"]),
  reason: z.string(),
  message: z.string(),
});
const Eviction = z.object({ metadata: z.object({ annotations: z._default(z.record(z.string(), z.string()), {}) }) });

export function createIn(fake: FakeCluster, resource: string, manifest: Manifest): Answer {
  const { namespace = "", name = "" } = manifest.metadata ?? {};
  if (fake.shelfOf(resource)?.get({ namespace, name }) !== undefined && resource !== "pods") return answer(409);
  const created = { ...manifest, metadata: { ...manifest.metadata, ...fake.identity() } };
  switch (resource) {
    case "evacuations": {
      const { uid, resourceVersion } = created.metadata;
      // Each is younger than the last one.
      const createdAt = fake.now().getTime() + Number(resourceVersion);
      const facts = { ...Evacuation.parse(created), uid, createdAt };
      fake.evacuations.put(facts);
      return answer(201, facts);
    }
    case "virtualmachineinstancemigrations": {
      const facts = { ...Migration.parse(created), phase: "Pending", createdAt: fake.now().getTime() };
      const isOther = (m: typeof facts) => m.namespace === namespace && m.vmiName === facts.vmiName && !isFinal(m);
      // KubeVirt's admission allows one unfinished migration a VMI.
      if (fake.migrations.list(isOther).length > 0) return answer(400, undefined, "in-flight migration detected");
      fake.migrations.put(facts);
      return answer(201, facts);
    }
    case "poddisruptionbudgets":
      fake.budgets.put(budget(without(Budget.parse(created), "status")));
      return answer(201);
    case "events":
      return record(fake, manifest);
    case "pods":
      return evict(fake, { namespace, name }, manifest);
    case "selfsubjectaccessreviews":
      return answer(201, { allowed: true });
    case "subjectaccessreviews":
      return answer(201, { allowed: false });
    case "tokenreviews":
      return answer(201, { authenticated: false, audiences: [] });
    default:
      throw new Error(`nothing creates ${resource}`);
  }
}

/** Once for each occasion, on which its name depends. */
function record(fake: FakeCluster, manifest: Manifest): Answer {
  const { metadata, involvedObject: about, ...told } = Event.parse(manifest);
  if (fake.story.some(({ name }) => name === metadata.name)) return answer(409);
  fake.story.push({ about, ...told, name: metadata.name });
  return answer(201);
}

/** One that cannot happen: KubeVirt's webhook reviews it. */
function evict(fake: FakeCluster, key: { readonly namespace: string; readonly name: string }, manifest: Manifest) {
  const pod = fake.pods.get(key);
  if (pod === undefined) return answer(404);
  const vmi = { namespace: key.namespace, name: vmiNameOf(pod) ?? "" };
  const { annotations } = Eviction.parse(manifest).metadata;
  if (fake.vmis.get(vmi)?.nodeName === pod.nodeName) {
    reviewEviction(fake, vmi, annotations[REQUESTED_BY_ANNOTATION] === DESCHEDULER);
  }
  return answer(429);
}
