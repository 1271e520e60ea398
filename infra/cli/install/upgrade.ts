/** `lifeboat upgrade`: brings what is installed to the version of this command. */
import * as z from "zod/mini";
import { FLAG, TEXT } from "../../tools/console/arguments.ts";
import { type Command, COMMON_USAGE, connectionOf, noWords, readCommand, secondsOf } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failed } from "../failed.ts";
import { Applier } from "./apply.ts";
import { readClusterFacts } from "./cluster-facts.ts";
import { applyAll, readyServer } from "./install.ts";
import { type Manifest, manifestsIn } from "./manifests.ts";
import { imageOf } from "./options.ts";
import { PARTS, type Part } from "./parts.ts";
import { type Home, isWebhook, plan } from "./plan.ts";
import { removeRetired } from "./retired.ts";

const FLAGS = { image: TEXT, "dry-run": FLAG, "force-conflicts": FLAG, timeout: TEXT } as const;

export const upgrade: Command = {
  words: ["upgrade"],
  summary: "bring what is installed to the version of this command",
  usage: `upgrade [--image IMAGE] [--dry-run] [--force-conflicts]

Applies the manifests of this version for what is installed: the parts that are there, in the form that is there. Addresses, tokens and
the LifeboatConfiguration stay as they are. A Worker is deployed by itself, before.

      --image IMAGE           in the cluster: the image of this version
      --dry-run               say what would change
      --force-conflicts       overwrite fields that other managers have set to other values; without it, the command names them and stops
      --timeout 10m           in the cluster: how long to wait for the replicas
${COMMON_USAGE}
`,
  flags: FLAGS,
  async run(args, host, opened) {
    const { values, positionals } = readCommand(args, FLAGS);
    noWords(positionals);
    const seconds = secondsOf("--timeout", values.timeout ?? "10m");
    const connection = connectionOf(values, host, opened);
    const { "dry-run": dryRun, "force-conflicts": forceConflicts } = values;
    const applying = { applier: new Applier(connection.send), host, dryRun, forceConflicts };
    const { kubevirtNamespace } = await readClusterFacts(connection);
    const home = await findHome(applying.applier, values.image);
    const planned = plan({ parts: await presentParts(applying.applier), home });
    const manifests: Manifest[] = [];
    for (const manifest of planned) {
      if (manifest.kind === "LifeboatConfiguration") continue;
      manifests.push(isWebhook(manifest) ? await addressed(manifest, applying.applier) : manifest);
    }
    await applyAll(manifests, applying);
    await removeRetired(kubevirtNamespace, applying);
    if (home.in === "Cluster") await readyServer(manifests, applying, seconds);
    return EXIT.done;
  },
};

async function presentParts(applier: Applier): Promise<readonly Part[]> {
  const present: Part[] = [];
  for (const part of PARTS) {
    const [first] = part.files.flatMap(manifestsIn);
    if (first !== undefined && (await applier.read(first)) !== undefined) present.push(part);
  }
  return present;
}

const SERVER = { apiVersion: "apps/v1", kind: "Deployment" } as const;
const OWN = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" } as const;

async function findHome(applier: Applier, image: string | undefined): Promise<Home> {
  const server = { ...SERVER, metadata: { namespace: "lifeboat-system", name: "lifeboat-server" } };
  if ((await applier.read(server)) !== undefined) return { in: "Cluster", image: imageOf(image) };
  if ((await applier.read({ ...OWN, metadata: { name: "lifeboat" } })) === undefined) {
    throw new Failed("Lifeboat is not installed in this cluster: lifeboat install --help says how");
  }
  return { in: "Worker", url: "", webhookToken: "" };
}

const Webhooks = z.object({
  webhooks: z.array(z.looseObject({ name: z.string(), clientConfig: z.looseObject({}) })),
});

/** With the address that the object in the cluster has. */
async function addressed(manifest: Manifest, applier: Applier): Promise<Manifest> {
  const found = Webhooks.safeParse(await applier.read(manifest));
  if (!found.success) return manifest;
  const there = new Map(found.data.webhooks.map(({ name, clientConfig }) => [name, clientConfig]));
  const { webhooks } = Webhooks.parse(manifest);
  const addressedOnes = webhooks.map((webhook) => {
    const { service: _, ...present } = there.get(webhook.name) ?? {};
    // In the cluster path and caBundle are the server's to write.
    return "url" in present ? { ...webhook, clientConfig: present } : webhook;
  });
  return { ...manifest, webhooks: addressedOnes };
}
