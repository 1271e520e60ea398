/** The command line of `lifeboat install`. */
import { readFileSync } from "node:fs";
import { FLAG, TEXT, TEXTS, UsageError } from "../../tools/console/arguments.ts";
import { COMMON_USAGE, noWords, readCommand, secondsOf } from "../command.ts";
import { PARTS, partsNamed } from "./parts.ts";
import type { Home } from "./plan.ts";

/** Of the release that this is: the workflow that publishes both gives it to infra/tools/build-command.ts. */
declare const RELEASED_IMAGE: string | undefined;
const DEFAULT_IMAGE = typeof RELEASED_IMAGE === "undefined" ? undefined : RELEASED_IMAGE;

export const INSTALL_FLAGS = {
  "in-cluster": FLAG,
  image: TEXT,
  worker: TEXT,
  cluster: TEXT,
  server: TEXT,
  entry: TEXT,
  "ca-bundle": TEXT,
  with: TEXTS,
  export: FLAG,
  "dry-run": FLAG,
  "force-conflicts": FLAG,
  timeout: TEXT,
} as const;

const partLines = PARTS.map(({ name, about }) => `      ${name.padEnd(20)} ${about}`);

export const INSTALL_USAGE = `install [--in-cluster | --worker URL] [--with PARTS] [--export | --dry-run]

Applies everything that Lifeboat needs in the cluster, waits until Lifeboat can work, and then has the API server ask it. Again, it
continues where it was, and changes what is not as it should be: so it upgrades. Without --in-cluster and --worker it keeps what is
installed: the form, its address and tokens, the parts, what the LifeboatConfiguration says. A Worker is deployed by itself, before.

      --in-cluster            Lifeboat runs in the cluster: two replicas, their certificate and tokens made by themselves
      --image IMAGE           its image (default: ${DEFAULT_IMAGE ?? "the one that is there"}; one of another registry is kept)
      --worker URL            Lifeboat runs in a Worker: its address, https://lifeboat.example.workers.dev
      --cluster NAME          the cluster's name in the Worker (default: the context's name)
      --server URL            where the Worker reaches the API server (default: the kubeconfig's)
      --entry FILE            the Worker's entry for this cluster, with its tokens; written if it is not there
                              (default: lifeboat-NAME.json)
      --ca-bundle FILE        the authority of the Worker's certificate, if it is no public one
      --with PARTS            further parts, separated by commas; their feature gates are switched on
      --export                print the manifests, and apply nothing; a webhook token is yours to fill in
      --dry-run               say what would change
      --force-conflicts       overwrite fields that other managers have set to other values; without it, the command names them and stops
      --timeout 10m           how long to wait for Lifeboat
${COMMON_USAGE}

Parts:
${partLines.join("\n")}
`;

export function readInstall(args: readonly string[]) {
  const { values, positionals } = readCommand(args, INSTALL_FLAGS);
  noWords(positionals);
  const { worker, image, "in-cluster": inCluster, "ca-bundle": file } = values;
  if (inCluster && worker !== undefined) throw new UsageError("expected either --in-cluster or --worker URL");
  const options = {
    /** Its address; undefined: in the cluster, or as it is. */
    worker: worker === undefined ? undefined : workerUrlOf(worker),
    inCluster,
    image,
    parts: partsNamed(values.with ?? []),
    /** PEM, of the authority of the Worker's certificate. */
    ca: file === undefined ? undefined : readFileSync(file, "utf8"),
    forceConflicts: values["force-conflicts"],
    dryRun: values["dry-run"],
    seconds: secondsOf("--timeout", values.timeout ?? "10m"),
  };
  return { values, options };
}

type Options = ReturnType<typeof readInstall>["options"];

/** Where Lifeboat is to run: as said, else where it does. */
export function homeOf({ worker, inCluster, image, ca }: Options, cluster: string, present: Home | undefined): Home {
  if (worker !== undefined) {
    const caBundle = ca === undefined ? {} : { caBundle: Buffer.from(ca).toString("base64") };
    return { in: "Worker", url: `${worker}/clusters/${cluster}`, webhookToken: "WEBHOOK_TOKEN", ...caBundle };
  }
  if (inCluster || present?.in === "Cluster") {
    return { in: "Cluster", image: image || imageBeside(present?.in === "Cluster" ? present.image : undefined) };
  }
  if (present !== undefined) return present;
  throw new UsageError("expected either --in-cluster or --worker URL: Lifeboat is not installed in this cluster");
}

/** An image of another registry is not this release's to replace. */
export function imageBeside(present: string | undefined, ofRelease = DEFAULT_IMAGE): string {
  const isOurs = present === undefined || repositoryOf(present) === repositoryOf(ofRelease ?? "");
  const image = isOurs ? ofRelease : present;
  if (image !== undefined) return image;
  throw new UsageError("--image: expected the image of infra/server: this build of the command knows of none");
}

function repositoryOf(image: string): string {
  return image.replace(/[:@][^/]*$/, "");
}

function workerUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== "https:") throw new UsageError(`--worker: expected an https:// address, got "${text}"`);
  return url.href.replace(/\/+$/, "");
}

/** As the registry takes it. */
export function clusterNameOf(said: string | undefined, context: string): string {
  const name = said ?? context;
  if (/^[A-Za-z0-9][\w.-]{0,127}$/.test(name)) return name;
  const expected = 'letters, digits, ".", "_" and "-"';
  if (said !== undefined) throw new UsageError(`--cluster: expected ${expected}, got "${said}"`);
  throw new UsageError(`--cluster NAME is needed: the context's name "${context}" has more in it than ${expected}`);
}
