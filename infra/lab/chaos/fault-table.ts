/** What can go wrong in a run: one row for each fault. */
export interface FaultRow {
  readonly says: string;
  /** How often it is drawn, compared with the others. */
  readonly weight: number;
  /** It is about what only the in-cluster form has. */
  readonly inCluster?: true;
  /** It takes Lifeboat's answer away; without one a deletion that does not ask goes through, by design. */
  readonly silences?: true;
  /** What Lifeboat has begun may end in the middle, without it or without its knowing. */
  readonly breaksOff?: true;
  /** virt-api's own requests may break, too. */
  readonly breaksVirtApi?: true;
  /** It drives VMs off a node by deletions that the guard has to refuse. */
  readonly needsGuard?: true;
  /** It is done to the control plane by the sandbox that simulates it. */
  readonly simulated?: true;
  /** It ends VMs unless the shield has covered them before, for which Lifeboat has some seconds. */
  readonly needsShield?: true;
}

// prettier-ignore
export const FAULTS = {
  // The API server, to Lifeboat and virt-api, or to all its clients
  ServerErrors:     { weight: 5, simulated: true, says: "answers 500 and 503", breaksOff: true },
  Throttling:       { weight: 4, simulated: true, says: "answers 429", breaksOff: true },
  ConflictStorm:    { weight: 4, simulated: true, says: "answers 409 to writes", breaksOff: true },
  Latency:          { weight: 5, simulated: true, says: "answers late" },
  BrokenConnections: { weight: 4, simulated: true, says: "connections break before anything is done", breaksOff: true },
  LostAnswers:      { weight: 5, simulated: true, says: "what was asked for is done, and the answer is lost", breaksOff: true },
  TruncatedAnswers: { weight: 3, simulated: true, says: "answers break off in the middle", breaksOff: true },
  IdleConnections:  { weight: 3, simulated: true, says: "idle connections are closed after some milliseconds", breaksOff: true, breaksVirtApi: true },
  WatchCuts:        { weight: 3, simulated: true, says: "watches of the control plane and KubeVirt break" },
  Compaction:       { weight: 2, simulated: true, says: "changes of the past are forgotten: 410" },
  Outage:           { weight: 4, says: "the API server restarts: its connections break, and for a while it takes no others", breaksOff: true, breaksVirtApi: true },
  Blind:            { weight: 4, simulated: true, says: "it refuses Lifeboat's token for a while: 401", breaksOff: true },
  BrokenReviews:    { weight: 5, simulated: true, says: "its calls about evictions break, before Lifeboat has them or after" },
  // The Workers, or the replicas
  WorkerKilled:     { weight: 6, says: "a Worker or a replica dies between two writes, another one comes in its place", silences: true, breaksOff: true },
  WorkerDown:       { weight: 4, says: "nothing answers at Lifeboat's address for a while", silences: true },
  SeveralWorkers:   { weight: 6, says: "several Workers at once, or a third replica: evictions, reconciles and cron ticks reach different ones" },
  ClockSkew:        { weight: 5, says: "their clocks are a minute fast or slow" },
  // The in-cluster form
  LeaseLost:        { weight: 2, says: "in the cluster: its replicas lose their Lease, to a stranger or to no one", inCluster: true },
  CertificateEnds:  { weight: 2, says: "in the cluster: its certificate is near its end, and is renewed", inCluster: true },
  TokenRenewed:     { weight: 2, says: "in the cluster: its token is renewed, and the old one revoked", inCluster: true },
  // KubeVirt
  ControllerOff:    { weight: 1, simulated: true, says: "its evacuation controller is off, and Lifeboat does not wait for it" },
  ControllerToggled: { weight: 3, simulated: true, says: "it is switched off and on" },
  BudgetDeletionToggled: { weight: 2, simulated: true, says: "KubeVirt's deletion of budgets is switched off and on" },
  AnnotationsByKubeVirt: { weight: 2, simulated: true, says: "virt-controller writes the descheduler's annotations, too" },
  MarksTooLate:     { weight: 3, says: "its webhook marks VMs for a node that they have left" },
  FailingMigrations: { weight: 6, says: "some VMs' migrations fail: once, three times, always" },
  SlowMigrations:   { weight: 3, says: "some migrations take long" },
  RefusedVms:       { weight: 4, says: "VMs that cannot move, or have an unknown strategy, are refused again and again" },
  WorkloadUpdates:  { weight: 3, says: "it migrates VMs for an update of their workload" },
  Backups:          { weight: 3, says: "VMs are backed up, until the faults stop" },
  // People
  ForeignMigrations: { weight: 4, says: "a user migrates VMs (virtctl migrate)" },
  SentAway:         { weight: 3, says: "a user sends VMs to a cluster that never answers (sendTo), and gives up in the end" },
  OwnerDeletes:     { weight: 4, says: "owners delete VMIs midway" },
  OwnersGiveUp:     { weight: 2, says: "owners of External VMs delete them when their migration fails, as Cluster API's provider does" },
  DrainBrokenOff:   { weight: 4, says: "the drain is broken off and begun again" },
  OperatorCancels:  { weight: 4, says: "an operator cancels evacuations" },
  OperatorEvacuates: { weight: 3, says: "an operator creates Evacuations by kubectl" },
  EvacuationsDeleted: { weight: 3, says: "an operator deletes Evacuations: what has ended, and in vain what has not" },
  Tenant:           { weight: 4, says: "a tenant does its worst in a namespace of its own, and tries to reach beyond it" },
  MarkRemoved:      { weight: 3, says: "a user removes the mark from VMIs" },
  // On top of the drain
  DrainTaint:       { weight: 3, says: "the node carries the drain taint as well" },
  Preemption:       { weight: 2, says: "a pod of high priority takes the place of VMs on another node", needsGuard: true },
  NoExecuteTaint:   { weight: 2, says: "a NoExecute taint drives VMs off another node", needsGuard: true },
  NoExecuteTaintComesAndGoes: { weight: 3, says: "another node gets a NoExecute taint and loses it again, several times", needsGuard: true },
  NodeTermination:  { weight: 2, says: "Karpenter ends another node: it deletes the pods of VMs", needsGuard: true },
  MemoryPressure:   { weight: 2, says: "another node runs out of memory" },
  SoftEviction:     { weight: 2, says: "other nodes run out of process IDs, and their kubelets send SIGTERM to VMs, on one of them shielded ones", needsShield: true },
  Descheduling: { weight: 3, says: "two descheduling cycles at once, again and again" },
} as const satisfies Record<string, FaultRow>;

export type FaultName = keyof typeof FAULTS;

export const FAULT_NAMES = Object.keys(FAULTS).filter(isFault);

export function isFault(name: string): name is FaultName {
  return name in FAULTS;
}

export function rowOf(name: FaultName): FaultRow {
  return FAULTS[name];
}

/** Whether all of them may be part of one run. */
export function agree(faults: readonly FaultName[]): boolean {
  const rows = faults.map(rowOf);
  if (rows.some(({ silences }) => silences) && rows.some(({ needsGuard }) => needsGuard)) return false;
  const isUnsteady = rows.some(({ silences, breaksOff }) => silences === true || breaksOff === true);
  if (isUnsteady && rows.some(({ needsShield }) => needsShield)) return false;
  if (faults.includes("ControllerOff") && faults.includes("ControllerToggled")) return false;
  // A certificate lives for a minute there, instead of months.
  if (faults.includes("CertificateEnds") && faults.includes("ClockSkew")) return false;
  // KubeVirt's webhook allows to evict a VM whose strategy it does not know. What then holds it is its budget, unless a
  // person or an update migrates it.
  return !faults.includes("RefusedVms") || !MIGRATING.some((fault) => faults.includes(fault));
}

const MIGRATING: readonly FaultName[] = ["ForeignMigrations", "WorkloadUpdates"];
