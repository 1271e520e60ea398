/** Fault: virt-controller restarts, and starts no migration or evacuation for a while. */
import { isReal, USERS } from "../../../sandbox/index.ts";
import { atTimes, type Fault, type Run, simulatedIn, waited } from "../fault.ts";

export const virtControllerAway: Fault = {
  says: "virt-controller restarts: for a while it starts no migration and no evacuation",
  weight: 4,
  inject: (run, draw) =>
    atTimes(run, draw, [1, 3], async () => {
      const start = await stop(run);
      await waited(run, draw.int(100, 1500));
      await start();
    }),
};

async function stop(run: Run): Promise<() => Promise<void> | void> {
  const { sandbox } = run.cluster;
  if (isReal(sandbox)) {
    await sandbox.programs.kill("virt-controller");
    return () => sandbox.programs.start("virt-controller");
  }
  const { apiServer, evacuationController } = simulatedIn(run);
  const reach = apiServer.faults.inject({
    effect: { type: "ConnectionReset" },
    match: { users: [USERS.virtController.user] },
  });
  evacuationController.enabled = false;
  return () => {
    reach();
    evacuationController.enabled = true;
  };
}
