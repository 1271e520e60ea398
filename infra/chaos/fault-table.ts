/**
 * What can go wrong in a run: one row for each fault.
 * Owns: names, what each is, how often it is drawn, what it cannot be combined with. Does not own: when it strikes in a
 * run (plan.ts, moments.ts), doing it (happen.ts).
 */
export interface FaultRow {
  readonly says: string;
  /** How often it is drawn, compared with the others. */
  readonly weight: number;
  /** It takes Lifeboat's answer away; without one a deletion that does not ask goes through, by design. */
  readonly silences?: true;
  /** It takes only the answers to evictions away; the guard answers. */
  readonly silencesEvictions?: true;
  /** What Lifeboat has begun may end in the middle, without it or without its knowing. */
  readonly breaksOff?: true;
  /** It drives VMs off a node by deletions that the guard has to hold. */
  readonly needsGuard?: true;
}

// prettier-ignore
export const FAULTS = {
  // The API server, to Lifeboat and virt-api or to everybody
  ServerErrors:     { weight: 5, says: "answers 500 and 503", breaksOff: true },
  Throttling:       { weight: 4, says: "answers 429", breaksOff: true },
  ConflictStorm:    { weight: 4, says: "answers 409 to writes", breaksOff: true },
  Latency:          { weight: 5, says: "answers late" },
  BrokenConnections: { weight: 4, says: "connections break before anything is done", breaksOff: true },
  LostAnswers:      { weight: 5, says: "what was asked for is done, and the answer is lost", breaksOff: true },
  TruncatedAnswers: { weight: 3, says: "answers break off in the middle", breaksOff: true },
  IdleConnections:  { weight: 3, says: "idle connections are closed after some milliseconds", breaksOff: true },
  WatchCuts:        { weight: 3, says: "watches of the control plane and KubeVirt break" },
  Compaction:       { weight: 2, says: "changes of the past are forgotten: 410" },
  Outage:           { weight: 4, says: "the API server is away for a while", breaksOff: true },
  BrokenReviews:    { weight: 5, says: "its calls about evictions break, before Lifeboat has them or after", silencesEvictions: true },
  // The Workers
  WorkerKilled:     { weight: 6, says: "a Worker dies between two writes, another one comes at its address", silences: true, breaksOff: true },
  WorkerDown:       { weight: 4, says: "nobody answers at Lifeboat's address for a while", silences: true },
  SeveralWorkers:   { weight: 6, says: "several Workers at once: evictions, reconciles and cron ticks reach different ones" },
  ClockSkew:        { weight: 5, says: "the Workers' clocks are a minute fast or slow" },
  // KubeVirt
  EvacuationController: { weight: 4, says: "KubeVirt's own evacuation controller migrates marked VMs, too" },
  ControllerToggled: { weight: 3, says: "it is switched on and off" },
  EvictionWebhook:  { weight: 3, says: "virt-api answers evictions, too" },
  BudgetDeletionToggled: { weight: 2, says: "KubeVirt's deletion of budgets is switched off and on" },
  AnnotationsByKubeVirt: { weight: 2, says: "virt-controller writes the descheduler's annotations, too" },
  FailingMigrations: { weight: 6, says: "some VMs' migrations fail: once, three times, always" },
  SlowMigrations:   { weight: 3, says: "some migrations take long" },
  RefusedVms:       { weight: 4, says: "VMs that cannot move, or have a strategy nobody knows, are refused again and again" },
  // People
  ForeignMigrations: { weight: 4, says: "somebody else migrates VMs (virtctl migrate)" },
  OwnerDeletes:     { weight: 4, says: "owners delete VMIs midway" },
  DrainBrokenOff:   { weight: 4, says: "the drain is broken off and begun again" },
  OperatorCancels:  { weight: 4, says: "an operator cancels evacuations" },
  MarkRemoved:      { weight: 3, says: "somebody removes the mark from VMIs" },
  // On top of the drain
  DrainTaint:       { weight: 3, says: "the node carries the drain taint as well" },
  Preemption:       { weight: 2, says: "a pod of high priority takes the place of VMs on another node", needsGuard: true },
  NoExecuteTaint:   { weight: 2, says: "a NoExecute taint drives VMs off another node", needsGuard: true },
  NoExecuteTaintComesAndGoes: { weight: 3, says: "another node gets a NoExecute taint and loses it again, several times", needsGuard: true },
  MemoryPressure:   { weight: 2, says: "another node runs out of memory" },
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
  const isSilent = rows.some(({ silences }) => silences);
  if (isSilent && rows.some(({ needsGuard }) => needsGuard)) return false;
  // Of a migration that Lifeboat did not begin it has to learn first; and KubeVirt's own webhook lets an eviction go on
  // when the API server fails it.
  return !(isSilent || rows.some(({ silencesEvictions }) => silencesEvictions)) || !migrateUnasked(faults);
}

function migrateUnasked(faults: readonly FaultName[]): boolean {
  const controlled = faults.includes("EvacuationController") || faults.includes("ControllerToggled");
  return faults.includes("ForeignMigrations") || (faults.includes("DrainTaint") && controlled);
}
