/** What an administrator applies to run Lifeboat in the cluster. That it is enough is tried in test/live/in-cluster.test.ts. */
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { fileURLToPath } from "node:url";
import { loadAll } from "js-yaml";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { NAME, WEBHOOK_CONFIGURATIONS } from "../../../infra/server/names.ts";
import type { Home } from "../../../infra/cli/install/plan.ts";
import { plannedFor } from "../../../infra/lab/stage/apply.ts";
import { inClusterManifests } from "../../../infra/lab/stage/in-cluster.ts";
import { build } from "../../support/manifests/kustomize.ts";

const infra = new URL("../../../infra/", import.meta.url);
const parse = (file: string) => loadAll(readFileSync(new URL(file, infra), "utf8"));

const Manifest = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
const Rules = z.object({
  rules: z.array(z.looseObject({ resources: z.array(z.string()), verbs: z.array(z.string()) })),
});
const manifests = z.array(Manifest).parse(inClusterManifests(["optional/guard/guard.yaml"]));

function find(kind: string, name = NAME) {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}

// prettier-ignore
test.each([
  // From                      to    may
  ["192.168.7.11",             8443, true],
  ["10.244.3.9",               8443, false],
  ["pods of `monitoring`",     8080, true],
])("with optional/server-network-policy, %s to port %d: %s", (from, port, expected) => {
  const [policy] = z.array(Policy).parse(build("infra/kubernetes/optional/server-network-policy", "Component"));
  expect(find("Deployment")).toMatchObject({ spec: { selector: policy?.spec.podSelector } });
  const rules = policy?.spec.ingress.filter(({ ports }) => ports.some((one) => one.port === port)) ?? [];
  const admits = ({ ipBlock }: Peer) => (isIP(from) === 0 ? ipBlock === undefined : isIn(from, ipBlock));
  expect(rules.some((rule) => rule.from.some(admits))).toBe(expected);
});

const PolicyPeer = z.object({
  ipBlock: z.optional(z.object({ cidr: z.string(), except: z.array(z.string()) })),
  namespaceSelector: z.optional(
    z.object({ matchLabels: z.object({ "kubernetes.io/metadata.name": z.literal("monitoring") }) }),
  ),
});
type Peer = z.output<typeof PolicyPeer>;
const Policy = z.object({
  spec: z.object({
    podSelector: z.unknown(),
    ingress: z.array(z.object({ from: z.array(PolicyPeer), ports: z.array(z.object({ port: z.number() })) })),
  }),
});

function isIn(address: string, block: Peer["ipBlock"]): boolean {
  const within = (cidr: string) => {
    const [network = "", bits] = cidr.split("/");
    const family = isIP(network) === 4 ? "ipv4" : "ipv6";
    const list = new BlockList();
    list.addSubnet(network, Number(bits), family);
    return isIP(address) === isIP(network) && list.check(address, family);
  };
  return block !== undefined && within(block.cidr) && !block.except.some(within);
}

test("it watches as the relay does, and its budgets, and creates nothing of its own", () => {
  const { rules } = Rules.parse(find("ClusterRole"));
  const [relay] = parse("relay/kubernetes/rbac.yaml");
  expect(rules.slice(0, -2)).toEqual(Rules.parse(relay).rules);
  expect([...rules.slice(-2), ...Rules.parse(find("Role")).rules]).toMatchObject([
    { resources: ["poddisruptionbudgets"], verbs: ["list", "watch"] },
    { resourceNames: [...WEBHOOK_CONFIGURATIONS], verbs: ["patch"] },
    { resources: ["secrets"], resourceNames: [NAME], verbs: ["get", "patch"] },
    { resources: ["leases"], resourceNames: [NAME], verbs: ["get", "patch"] },
  ]);
});

const Pods = z.object({ template: z.object({ spec: z.looseObject({ containers: z.array(z.unknown()) }) }) });

test.each([
  ["the server", find("Deployment")],
  ["the relay", Manifest.parse(parse("relay/kubernetes/deployment.yaml")[0])],
])("the pods of %s satisfy the Pod Security Standard `restricted`", (_, deployment) => {
  const { spec } = Pods.parse(deployment["spec"]).template;
  const pod = { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } };
  const capabilities = { drop: ["ALL"] };
  const container = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities };
  expect(spec).toMatchObject({ securityContext: pod, containers: [{ securityContext: container }] });
});

const URL_OF_WORKER = "https://lifeboat.example.com/clusters/CLUSTER";

test.each<[string, Home]>([
  ["kubernetes", { in: "Worker", url: URL_OF_WORKER, webhookToken: "WEBHOOK_TOKEN" }],
  ["server/kubernetes", { in: "Cluster", image: "registry.example.com/lifeboat:0.3.0" }],
])("kubectl apply -k infra/%s applies what the command installs", (kustomization, home) => {
  // The LifeboatConfiguration is the administrator's: the command only creates it and sets gates in it.
  const installed = plannedFor(home).filter(({ kind }) => kind !== "LifeboatConfiguration");
  expect(byName(build(fileURLToPath(new URL(kustomization, infra))))).toEqual(byName(installed));
});

function byName(objects: readonly z.output<typeof Manifest>[]) {
  return objects.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

function nameOf({ kind, metadata }: z.output<typeof Manifest>): string {
  return `${kind} ${metadata.name}`;
}
