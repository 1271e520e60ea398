/**
 * The objects of a KubeVirt installation: its namespace, accounts, roles (rbac.yaml) and the KubeVirt object. They have
 * the same names as upstream.
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { grant, type Manifest, type Rule } from "../actors/rbac.ts";
import { KUBEVIRT_NAMESPACE } from "./resources.ts";

interface Component {
  readonly name: string;
  readonly rules: readonly Rule[];
}

const { components } = load(readFileSync(new URL("rbac.yaml", import.meta.url), "utf8")) as {
  readonly components: readonly Component[];
};

function installed({ name, rules }: Component): readonly Manifest[] {
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: KUBEVIRT_NAMESPACE } };
  return [account, ...grant(name, { kind: "ServiceAccount", name, namespace: KUBEVIRT_NAMESPACE }, rules)];
}

export const KUBEVIRT_RBAC: readonly Manifest[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: KUBEVIRT_NAMESPACE } },
  ...components.flatMap(installed),
];

/** HostDisk permits volumes that prevent migrations. */
const FEATURE_GATES = ["HostDisk"];

export const KUBEVIRT = {
  apiVersion: "kubevirt.io/v1",
  kind: "KubeVirt",
  metadata: { name: "kubevirt", namespace: KUBEVIRT_NAMESPACE },
  spec: {
    configuration: {
      developerConfiguration: { featureGates: FEATURE_GATES },
      permittedHostDevices: { pciHostDevices: [{ pciVendorSelector: "10DE:20B7", resourceName: "example.com/gpu" }] },
    },
  },
} as const;

const VERSION = "v1.9.0";
const DEPLOYMENT = "0a6e2f6f7f6a4e9b9f4f2c1d";

export const DEPLOYED = {
  phase: "Deployed",
  defaultArchitecture: "amd64",
  observedKubeVirtVersion: VERSION,
  targetKubeVirtVersion: VERSION,
  observedDeploymentID: DEPLOYMENT,
  targetDeploymentID: DEPLOYMENT,
} as const;

export function withGates(featureGates: readonly string[]): object {
  return { configuration: { developerConfiguration: { featureGates: [...FEATURE_GATES, ...featureGates] } } };
}
