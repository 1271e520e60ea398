/**
 * Tests the manifests that an administrator applies to run Lifeboat in the cluster. test/live/in-cluster.test.ts tests
 * that these manifests are sufficient.
 */
import { BlockList, isIP } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import type { Home } from "../../../infra/cli/install/plan.ts";
import { plannedFor } from "../../../infra/lab/stage/apply.ts";
import { inClusterManifests } from "../../../infra/lab/stage/in-cluster.ts";
import { build } from "../../support/manifests/kustomize.ts";

const infra = new URL("../../../infra/", import.meta.url);

const Container = z.looseObject({ name: z.string() });
const Deployment = z.object({
  kind: z.literal("Deployment"),
  spec: z.object({
    selector: z.unknown(),
    template: z.object({ spec: z.looseObject({ containers: z.array(Container) }) }),
  }),
});

function deploymentIn(objects: readonly unknown[]) {
  return objects.flatMap((one) => Deployment.safeParse(one).data?.spec ?? [])[0] ?? expect.fail("no Deployment");
}

const Block = z.object({ cidr: z.string(), except: z.array(z.string()) });
const Policy = z.object({
  spec: z.object({
    podSelector: z.unknown(),
    ingress: z.array(
      z.object({
        from: z.array(z.object({ ipBlock: z.optional(Block) })),
        ports: z.array(z.object({ port: z.number() })),
      }),
    ),
  }),
});

test("with optional/server-network-policy, nodes reach the server's port for reviews, and pods do not", () => {
  const [policy] = z.array(Policy).parse(build("infra/kubernetes/optional/server-network-policy", "Component"));
  const { podSelector, ingress = [] } = policy?.spec ?? {};
  expect(deploymentIn(inClusterManifests([])).selector).toEqual(podSelector);
  const isOpenTo = (address: string) =>
    ingress
      .filter(({ ports }) => ports.some(({ port }) => port === 8443))
      .flatMap(({ from }) => from)
      .some(
        ({ ipBlock: block }) => block === undefined || (isIn(address, [block.cidr]) && !isIn(address, block.except)),
      );
  expect(["192.168.7.11", "fd00::7", "10.244.3.9", "fd00:10:244::9"].filter(isOpenTo)).toEqual([
    "192.168.7.11",
    "fd00::7",
  ]);
});

function isIn(address: string, cidrs: readonly string[]): boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = "", bits] = cidr.split("/");
    if (isIP(network) === isIP(address)) list.addSubnet(network, Number(bits), familyOf(network));
  }
  return list.check(address, familyOf(address));
}

function familyOf(address: string) {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}

const URL_OF_WORKER = "https://lifeboat.example.com/clusters/CLUSTER";

test.each<[string, Home]>([
  ["kubernetes", { in: "Worker", url: URL_OF_WORKER, webhookToken: "webhook-token" }],
  ["server/kubernetes", { in: "Cluster", image: "registry.example.com/lifeboat:0.4.0" }],
])("kubectl apply -k infra/%s applies what the command installs", (kustomization, home) => {
  // The manifests contain no LifeboatConfiguration, because the administrator owns it. The command only creates the
  // object and enables feature gates.
  const installed = plannedFor(home).filter(({ kind }) => kind !== "LifeboatConfiguration");
  expect(byName(build(fileURLToPath(new URL(kustomization, infra))))).toEqual(byName(installed));
});

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

function byName(objects: readonly Named[]): readonly Named[] {
  const nameOf = ({ kind, metadata }: Named) => `${kind} ${metadata.name}`;
  return objects.toSorted((one, other) => nameOf(one).localeCompare(nameOf(other)));
}
