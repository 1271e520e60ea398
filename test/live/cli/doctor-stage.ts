/** A cluster with Lifeboat in order, for `lifeboat doctor`, and ways to break it for one test. */
import { kubeVirts, type Resource, waitFor } from "../../../infra/sandbox/index.ts";
import { lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import { type Stage, startStage } from "../stage.ts";
import { createVm } from "../vm.ts";

const KUBEVIRT = { namespace: "kubevirt", name: "kubevirt" };
const CONFIGURATION = { evacuation: { backoffSeconds: 20 } };

export const DEFINITIONS: Resource = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

/** With one VM, `web`. */
export async function startHealthyStage(): Promise<Stage> {
  const stage = await startStage({ ticking: false, configuration: CONFIGURATION });
  await configureKubeVirt(stage, { evictionStrategy: "LiveMigrate" });
  // The API server asks Lifeboat, and Lifeboat writes so.
  await (await createVm(stage, "web")).evict({ deleteOptions: { dryRun: ["All"] } });
  await report(stage);
  return stage;
}

/** A full scan, and what it has to say of itself, which it may write after its answer. */
async function report(stage: Stage): Promise<void> {
  await stage.reconcile();
  await waitFor(stage.client, {
    resource: lifeboatConfigurations,
    key: { name: "lifeboat" },
    what: "reported on, with nothing wrong",
    until: ({ metadata, status }) => {
      const told = status?.conditions ?? [];
      const isAbout = (one: Readonly<Record<string, unknown>>) => one["observedGeneration"] === metadata.generation;
      return told.length === 5 && told.every((one) => one["status"] === "True" && isAbout(one));
    },
  });
}

async function configureKubeVirt({ client }: Stage, configuration: Readonly<Record<string, unknown>>) {
  await client.patch(kubeVirts, KUBEVIRT, { type: "merge", body: { spec: { configuration } } });
}

/** Without what differs from run to run. */
export function steady(lines: readonly string[]): readonly string[] {
  return lines.map((line) =>
    line
      .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
      .replaceAll(/virt-launcher-web-\w+/g, "POD")
      .replaceAll(/lifeboat-token-\w+/g, "SECRET")
      .replaceAll(/\b\d+[smh]( old)?$/g, "AGE$1"),
  );
}

/** What is no `√`, with its reasons and its fix. */
export function trouble(lines: readonly string[]): readonly string[] {
  let isTold = false;
  return steady(lines).filter((line) => {
    if (/^ {2}[√‼×]/.test(line)) isTold = !line.includes("√");
    else if (!line.startsWith("      ")) isTold = false;
    return isTold;
  });
}
