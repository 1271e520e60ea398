/**
 * The story of the descheduler: a lopsided cluster is balanced under limits; then another one like it with the gate off, where no cycle
 * knows what the one before has set in motion.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createBesideNarrator } from "./beside-narrator.ts";
import type { Cluster, Configuration } from "./cluster.ts";
import { describeCycle, isAtRest, runCycle, type Cycle } from "./descheduler-cycle.ts";
import { figuresOf, isAsItShouldBe, journeyRows, onTheirWay, type Course } from "./descheduler-figures.ts";
import { NODES, setScene } from "./descheduler-scene.ts";
import { NAME, renderBalance, renderDescheduling, renderJudgement } from "./descheduler-view.ts";
import { showEvacuations } from "./evacuations.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import type { Screen } from "../../tools/console/screen.ts";
import { both, type Pair, type Stage } from "./stage.ts";
import type { Story } from "./story.ts";
import { readWorld, watchWorld } from "../stage/watch.ts";

const GATE = "EvictionsInBackground";

export const descheduler: Story = {
  about: `the gate ${GATE}`,
  setting: {
    lifeboat: { without: configuration(false), withIt: configuration(true) },
    optional: ["optional/descheduling/descheduling.yaml", "optional/descheduler-support/descheduler-support.yaml"],
  },
  setScene,
  tell,
  encore: ({ url, caFile, webhookToken }) => [
    "kubectl edit configmap -n lifeboat-system lifeboat-descheduler    # another policy, and another cycle:",
    `curl -s --cacert ${caFile} -H "Authorization: Bearer ${webhookToken}" -X POST ${url}/deschedule`,
  ],
};

function configuration(inBackground: boolean): Configuration {
  return {
    featureGates: { DeschedulerSupport: true, [GATE]: inBackground },
    evacuation: { adoptSeconds: 0 },
  };
}

const FRAME_MS = 100;
const CYCLE_MS = 1000;
/** The storm is watched for more cycles than it takes to balance the cluster without it: it does not end by itself. */
const LONGER = 1.5;
/** Far more than it takes to balance the cluster. */
const MOST_CYCLES = 60;

/** Resolves to whether the cluster was balanced with the gate on, never beyond the limit and with no VM lost. */
async function tell(stage: Stage, screen: Screen): Promise<boolean> {
  const courses = await both(stage, startCourse);
  const draw = drawerOf(courses, screen);
  const [full, ...others] = NODES;
  screen.print(
    "",
    `${full} is full, ${others.join(" and ")} have only just joined. Every second a descheduling cycle:`,
    "",
  );

  const drawing = setInterval(draw, FRAME_MS);
  let isOver: boolean;
  try {
    isOver = await deschedule(courses.withIt, isAtRest);
    draw();
    screen.print("", `» Now the other cluster: the same policy, but the gate ${GATE} is off.`, "");
    const enough = Math.ceil(courses.withIt.cycles.length * LONGER);
    await deschedule(courses.without, (_, cycles) => cycles >= enough);
  } finally {
    clearInterval(drawing);
    draw();
    await both(courses, (course) => course.stop());
    screen.keep();
  }

  const after = await both(stage, ({ client }) => readWorld(client));
  const figures = {
    without: figuresOf({ ...courses.without, world: after.without }),
    withIt: figuresOf({ ...courses.withIt, world: after.withIt }),
  };
  const isWell = isOver && isAsItShouldBe(figures.withIt);
  if (!screen.live) screen.print("", ...renderBalance(after, figures, screen));
  await showEvacuations(stage.withIt.client, screen);
  screen.print("", ...renderJudgement(figures, isWell, screen));
  return isWell;
}

/** Shows what there is to be seen, or what is new of it. */
function drawerOf({ without, withIt }: Pair<RunningCourse>, screen: Screen): () => void {
  const timeLine = startTimeLine();
  const narrator = createBesideNarrator({
    screen,
    timeLine,
    names: NAME,
    render(frame) {
      const figures = { without: figuresOf(without), withIt: figuresOf(withIt) };
      return renderDescheduling({ ...frame, figures }, screen);
    },
  });
  return () =>
    narrator.tell(
      journeyRows({ without, withIt }),
      { without: without.world, withIt: withIt.world },
      { without: without.cycles.map(describeCycle), withIt: withIt.cycles.map(describeCycle) },
    );
}

interface RunningCourse extends Course {
  readonly cluster: Cluster;
  readonly cycles: Cycle[];
  stop(): Promise<void>;
}

async function startCourse(cluster: Cluster): Promise<RunningCourse> {
  const before = await readWorld(cluster.client);
  const watched = await watchWorld(cluster.client, cluster.clock);
  const { world } = watched;
  let most = 0;
  watched.onChange(() => (most = Math.max(most, onTheirWay(world))));
  return {
    before,
    world,
    cluster,
    cycles: [],
    get most() {
      return most;
    },
    stop: () => watched.stop(),
  };
}

/** Resolves to whether it came to be enough. */
async function deschedule(
  { cluster, cycles }: RunningCourse,
  isEnough: (last: Cycle, cycles: number) => boolean,
): Promise<boolean> {
  while (cycles.length < MOST_CYCLES) {
    const last = await runCycle(cluster);
    cycles.push(last);
    if (isEnough(last, cycles.length)) return true;
    await delay(CYCLE_MS);
  }
  return false;
}
