/** All messages of `install` and `uninstall`, except the messages of rules, checks and steps. */
import * as names from "../../../shared/kube/names.ts";
import { printable } from "../print.ts";

const listed = (lines: readonly string[]) => lines.map((line) => `    ${line}\n`).join("");

export const INSTALL_MESSAGES = {
  // The command line
  needsWorker: (flag: string) => `--${flag}: expected --worker URL, too`,
  needsInCluster: (flag: string) => `--${flag}: expected --in-cluster, too`,
  exportHasNoKey:
    "--export prints no private key, so it makes no certificate: pass --cert-manager, or --ca-bundle FILE with the CA of your own certificate",
  needsForm: "expected either --in-cluster or --worker URL: Lifeboat is not installed in this cluster",
  needsImage:
    "--image: expected the image of the server, because this build of the command has no default. infra/Dockerfile builds the image",
  oddClusterName: (name: string) => `--cluster: expected letters, digits, ".", "_" and "-", got "${name}"`,
  needsClusterName: (context: string) =>
    `--cluster NAME is needed: the context's name "${context}" has characters other than letters, digits, ".", "_" and "-"`,
  otherServer: (file: string, server: string) =>
    `--server: ${file} names another server, ${server}: change the server in the file, or remove the file`,
  expectedParts: (parts: readonly string[]) => `Expected one or more of ${parts.join(", ")}.`,
  expectedHttps: "Expected an https:// address.",
  expectedOwnAddress: "Expected the Worker's own address, without /clusters/NAME.",
  expectedPem: "Expected a file with certificates in PEM.",

  // Requirements of the cluster
  noVersion: "the API server does not report its version of Kubernetes",
  noKubeVirt: "there is no KubeVirt object in this cluster: install KubeVirt first",
  tooOld: (version: string, oldest: number) => `${version} is older than 1.${oldest}, the oldest supported version`,
  partNeeds: (part: string, needed: string, found: string) =>
    `--with ${part} needs ${needed}, and this cluster has ${found}. Nothing has been applied.`,
  gateIsOff: (part: string, gate: string | undefined, fix: string) =>
    `--with ${part} needs KubeVirt's feature gate ${gate}, which is off. Nothing has been applied. Switch it on:\n    ${fix}`,

  // Objects
  question: (version: string, where: string, parts: readonly string[]) =>
    `Install Lifeboat ${version} in this cluster, ${where}, ${parts.length === 0 ? "without optional features" : `with ${parts.join(", ")}`}?`,
  asPods: (image: string) => `as pods of ${image}`,
  withWorker: (url: string) => `with the Worker ${url}`,
  changed: (object: string, how: "created" | "configured" | "unchanged" | "deleted" | "withdrawn") =>
    `${object} ${how}\n`,
  conflict: (object: string, fields: readonly string[]) =>
    `${object} has not been applied: other field managers have given other values to some of its fields:
${listed(fields)}--force-conflicts overwrites these fields. To keep the other managers' values, save the output of \`lifeboat install --export\`. Set the values in a kustomization on top of it, and apply that kustomization`,
  notServed: (object: string) => `the API server does not serve ${object}`,
  notAvailable: (object: string, troubles: readonly string[]) =>
    `${object} is not available: ${troubles.join("\n") || "it has no pod yet"}`,
  tooLate: (what: string, seconds: number) => `${what}, after ${seconds} s`,
  stepDone: (title: string) => `√ ${title}\n`,
  installed: "Lifeboat is installed. Check it with `lifeboat doctor`.\n",
  applyTwice: "Run kubectl apply twice, because the first run does not know the kind LifeboatConfiguration yet.\n",
  notBundled: (path: string) => `${path} is not in the bundle`,

  // Certificate and tokens
  apiServerLearns: (seconds: number) =>
    `The certificate is renewed. Waiting ${seconds} s for the API server to trust the new certificate …\n`,
  replicasLearn: (seconds: number) => `Waiting ${seconds} s for every replica to load the certificate …\n`,
  interrupted: "interrupted: run lifeboat install again, which resumes at this step",
  oddWebhookToken: (secret: string) =>
    `Secret ${secret}: expected a webhookToken of lowercase letters, digits, "-" and ".": the API server accepts no other characters in a webhook's path. Make another token: openssl rand -hex 32`,
  noSecret: (secret: string) => `there is no ${secret}: run lifeboat install again, which creates it`,
  noCertificate: (secret: string, help: string) => `cert-manager has written no certificate into ${secret} (${help})`,
  noToken: (secret: string) => `the token controller has not written the account's token into ${secret}`,
  noEntry: (file: string, why: string) => `${file} contains no valid entry for the Worker's CLUSTERS: ${why}`,
  expectedTokens: "expected webhookToken and operatorToken",
  tokenRefused: (file: string) =>
    `this cluster does not accept the token in ${file}: it was revoked, or has expired. Remove the file and run this command again to make new tokens`,

  // The Worker
  giveEntry: (file: string, cluster: string) =>
    `The Worker does not know this cluster yet, or has other tokens for it. Keep ${file} secret, and give it to the Worker with one of these commands:
    npm run cluster -- add ${cluster} --entry ${file}                          (CLUSTER_REGISTRY)
    jq '{"${cluster}": .}' ${file} | npx wrangler secret put CLUSTERS          (replaces the whole of CLUSTERS)
Waiting …
`,
  workerUnready: (why: string | undefined) => `the Worker is not ready: ${why}`,
  workerNotYetReady: (why: string) => `The Worker is not ready yet: ${why}\n`,
  workerUnknowing: "it does not know this cluster, or has another entry for it",
  workerAnswers: (url: string, code: number, said: string) => `${url} answers ${code}: ${said}`,
  workerSilent: (request: string, seconds: number) => `the Worker has not answered ${request} within ${seconds} s`,
  workerUnreachable: (url: string, why: string) => `the Worker cannot be reached at ${url}: ${why}`,
  scanNotEnded: "the first full scan has not ended",
  scanLeft: (left: number) => `  ${left} left to check\n`,
  scanRefused: (code: number) => `the first full scan has failed: the Worker answers ${code}`,
  scanFailed: (failures: number) =>
    `the first full scan had failures: ${failures}. The Worker's log says why: npx wrangler tail`,

  // Advice
  noClock: `‼ The guard's policies find no Lease in kube-system to use as a clock: while Lifeboat is unavailable, the API server allows preemptions of VMs.
    See infra/kubernetes/README.md, "The guard's policies"
`,
  noRelay: (reasons: readonly string[], fix: string) =>
    `‼ There is no relay, and ${reasons.join("; ")}. Install the relay:\n    ${fix}\n`,
  handlerEnds: (
    fix: string,
  ) => `‼ virt-handler does not tolerate NoExecute taints: such a taint evicts virt-handler, and then no VM can leave the node. Add the toleration:
    ${fix}
    On OpenShift, change spec.workloads.nodePlacement of the HyperConverged instead
`,
  schedulersUnread: `‼ The accounts that schedule pods could not be read: the guard refuses a preemption only if an account in guard.requesters requests it.
    Ask an administrator who may list clusterroles and clusterrolebindings to run lifeboat doctor
`,
  schedulersUnknown: (
    accounts: string,
    fix: string,
  ) => `‼ The guard does not refuse preemptions by ${accounts}, which can bind and delete pods. If these accounts schedule pods, run:
    ${fix}
`,

  // Removal
  questionOfRemoval: `Remove Lifeboat from this cluster? Namespace ${names.LIFEBOAT_NAMESPACE} and everything in it will be deleted, including the ServiceAccounts with which people use the page.`,
  questionOfRest:
    "Remove Lifeboat's remaining labels and annotations from VMs, pods, migrations and nodes, and delete its remaining disruption budgets?",
  notInstalled: "Lifeboat is not installed in this cluster.\n",
  underWay: (lines: readonly string[]) => `Work in progress, which uninstall withdraws:\n${listed(lines)}`,
  unreadWork: (objects: readonly string[]) =>
    `‼ These objects cannot be read, and might be work in progress. uninstall does not withdraw them, so their nodes can stay cordoned, and their VMs can stay off:\n${listed(objects)}`,
  notWithdrawn: (seconds: number, why: string, lines: readonly string[]) =>
    `‼ After ${seconds} s ${why}:\n${listed(lines)}`,
  isNew: "new",
  inProgress: (name: string, about: string) => `${name} (${about})`,
  nodesDone: (phase: string, done: number, total: number) => `${phase}, ${done} of ${total} nodes done`,
  ofNode: (phase: string, node: string) => `${phase}, node ${node}`,
  ofVm: (phase: string, vm: string) => `${phase}, VM ${vm}`,
  cleaned: (what: string, count: number) => `cleaned ${what}: ${count}\n`,
  taintStays: (node: string, taint: string) =>
    `node "${node}" still has the taint ${taint}: run lifeboat uninstall again`,
  leftCordoned: (node: string) => `Node ${node} stays cordoned. To uncordon it: kubectl uncordon ${node}\n`,
  leftOfOwners: (lines: readonly string[]) =>
    `VM owners have set these labels and annotations, which stay:\n${listed(lines)}`,
  keysOf: (object: string, keys: readonly string[]) => printable(`${object}: ${keys.join(", ")}`),
  more: (count: number) => `and ${count} more`,
  left: [
    "Left: Events, which expire, and migrations that Lifeboat created. KubeVirt keeps the five newest migrations of each VM.",
    "Left: status.evacuationNodeName of VMs whose evacuation had not ended. KubeVirt still moves these VMs.",
    "Left: the settings of the KubeVirt object, and VMs that an ended NodeEvacuation has stopped. These VMs stay off.",
    "Left: a Worker, if this cluster had one, with its entry for this cluster.",
    "Kubernetes deletes the contents of the namespace within a minute. Until then, the namespace is Terminating, and nothing can be installed.",
  ],

  // A dry run of the removal
  wouldWithdraw: (object: string) => `${object} withdrawn (dry run)\n`,
  wouldNotWithdraw: (object: string) => `${object} cannot be read, so uninstall would not withdraw it (dry run)\n`,
  wouldDelete: (object: string) => `${object} deleted (dry run)\n`,
  wouldStayCordoned: (node: string) => `node/${node} stays cordoned, unless its maintenance is in progress\n`,
  wouldStay: (line: string) => `${line}: stays, because the owner has set it\n`,
} as const;
