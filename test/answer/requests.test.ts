/**
 * Limits the number of requests to the API server for each kind of work, by verb and resource. A Worker watches
 * nothing. The server in the cluster watches pods, nodes, VMIs, migrations, PodDisruptionBudgets and Evacuations.
 */
import { expect, test } from "vitest";
import { costOf, FORMS, type Form, WAYS } from "./ways.ts";

const inBoth = (cost: string) => ({ Worker: cost, "in the cluster": cost });

const MOST: Readonly<Record<keyof typeof WAYS, Readonly<Record<Form, string>>>> = {
  "a first eviction": {
    Worker:
      "create evacuations 1, create events 1, get pods 1, get virtualmachineinstances 1, list evacuations 1, patch evacuations/status 1",
    "in the cluster": "create evacuations 1, create events 1",
  },
  "the first repeat of an eviction": {
    Worker:
      "get pods 1, get virtualmachineinstances 1, list evacuations 1, list virtualmachineinstancemigrations 1, patch evacuations/status 1",
    "in the cluster": "",
  },
  "a further repeat of an eviction": {
    Worker: "get pods 1, get virtualmachineinstances 1, list evacuations 1",
    "in the cluster": "",
  },
  "a first deletion, which the guard refuses": {
    Worker:
      "create evacuations 1, create events 1, create pods/eviction 1, get nodes 1, get virtualmachineinstances 2, list evacuations 2, list virtualmachineinstancemigrations 1, patch evacuations/status 1, patch virtualmachineinstances 1",
    "in the cluster":
      "create evacuations 1, create events 1, create pods/eviction 1, get nodes 1, get virtualmachineinstances 1, list evacuations 1, patch evacuations/status 1, patch virtualmachineinstances 1",
  },
  "a repeat of a deletion": {
    Worker: "get nodes 1, get virtualmachineinstances 2, list evacuations 2, list virtualmachineinstancemigrations 1",
    "in the cluster": "get nodes 1, get virtualmachineinstances 1, list evacuations 1",
  },
  "an event of a VM at rest": {
    Worker: "get virtualmachineinstances 1, list evacuations 1",
    "in the cluster": "",
  },
  "an event of a VM that moves": {
    Worker: "get nodes 1, get virtualmachineinstances 1, list evacuations 1, list virtualmachineinstancemigrations 1",
    "in the cluster": "",
  },
  "an event of a VM that has moved": {
    Worker:
      "create events 1, get virtualmachineinstances 1, list evacuations 1, list virtualmachineinstancemigrations 1, patch evacuations/status 1",
    "in the cluster": "create events 1, get virtualmachineinstances 1, patch evacuations/status 1",
  },
  "an event of a node": inBoth("get nodes 1, list nodeevacuations 1"),
  "an event of a node that gets the drain taint": inBoth(
    "create evacuations 1, create events 1, get nodes 2, get virtualmachineinstances 1, list evacuations 3, list nodeevacuations 1, list virtualmachineinstancemigrations 1, list virtualmachineinstances 1, patch evacuations/status 1",
  ),
  "an event of a node that comes under pressure": inBoth(
    "create evacuations 1, create events 1, create pods/eviction 1, get nodes 1, get virtualmachineinstances 1, list evacuations 2, list nodeevacuations 1, list nodes 1, list pods 2, list virtualmachineinstancemigrations 1, list virtualmachineinstances 1, patch evacuations/status 1, patch virtualmachineinstances 1",
  ),
  "an event of a node that gets a NoExecute taint": inBoth(
    "create evacuations 1, create events 1, create pods/eviction 1, get nodes 2, get virtualmachineinstances 1, list evacuations 3, list nodeevacuations 1, list pods 2, list virtualmachineinstancemigrations 1, list virtualmachineinstances 1, patch evacuations/status 1, patch virtualmachineinstances 1",
  ),
  "a tick at rest": inBoth(
    "get validatingadmissionpolicybindings 1, list evacuations 1, list nodeevacuations 1, list rollingmaintenances 1",
  ),
  "a tick with one Evacuation": {
    Worker:
      "get nodes 1, get validatingadmissionpolicybindings 1, get virtualmachineinstances 1, list evacuations 1, list nodeevacuations 1, list rollingmaintenances 1, list virtualmachineinstancemigrations 1",
    "in the cluster":
      "get validatingadmissionpolicybindings 1, list evacuations 1, list nodeevacuations 1, list rollingmaintenances 1",
  },
  "NodeEvacuation of 100 VMs: a tick while the first VMs move": {
    Worker:
      "get nodes 1, get validatingadmissionpolicybindings 1, get virtualmachineinstances 4, list evacuations 2, list nodeevacuations 1, list rollingmaintenances 1, list virtualmachineinstancemigrations 4, list virtualmachineinstances 1, patch nodeevacuations/status 1",
    "in the cluster":
      "get nodes 1, get validatingadmissionpolicybindings 1, list evacuations 2, list nodeevacuations 1, list rollingmaintenances 1, list virtualmachineinstances 1, patch nodeevacuations/status 1",
  },
  "NodeEvacuation of 100 VMs: a reconcile while the first VMs move": inBoth(
    "get nodes 1, list evacuations 1, list nodeevacuations 1, list virtualmachineinstances 1, patch nodeevacuations/status 1",
  ),
  "NodeEvacuation of 100 VMs: a reconcile when the first VMs have left": inBoth(
    "create evacuations 4, create pods/eviction 4, get nodes 2, get virtualmachineinstances 4, get virtualmachines 4, list evacuations 10, list nodeevacuations 2, list pods 4, list virtualmachineinstancemigrations 4, list virtualmachineinstances 2, patch evacuations/status 4, patch nodeevacuations/status 1",
  ),
  "NodeEvacuation of 100 VMs: a reconcile, ten VMs cannot migrate": inBoth(
    "get nodes 1, get virtualmachines 10, list evacuations 1, list nodeevacuations 1, list virtualmachineinstances 1, patch nodeevacuations/status 1",
  ),
  "NodeEvacuation of 100 VMs: a reconcile, ten VMs are to be restarted": inBoth(
    "get nodes 1, get virtualmachines 10, list evacuations 1, list nodeevacuations 1, list poddisruptionbudgets 1, list pods 1, list virtualmachineinstances 1, patch nodeevacuations/status 1",
  ),
  "scheduled NodeEvacuation of 100 VMs: the first reconcile": inBoth(
    "get nodes 1, get virtualmachines 10, list evacuations 2, list nodeevacuations 1, list nodes 1, list poddisruptionbudgets 1, list pods 2, list resourcequotas 1, list virtualmachineinstancemigrations 1, list virtualmachineinstances 2, patch nodeevacuations/status 1",
  ),
  "scheduled NodeEvacuation of 100 VMs: a later tick": inBoth(
    "get nodes 1, get validatingadmissionpolicybindings 1, get virtualmachines 10, list evacuations 3, list nodeevacuations 1, list nodes 1, list poddisruptionbudgets 1, list pods 2, list resourcequotas 1, list rollingmaintenances 1, list virtualmachineinstancemigrations 1, list virtualmachineinstances 2",
  ),
  "scheduled NodeEvacuation of 100 VMs: the first reconcile, ten VMs are to be restarted": inBoth(
    "get nodes 1, get virtualmachines 10, list evacuations 2, list nodeevacuations 1, list nodes 1, list poddisruptionbudgets 1, list pods 2, list resourcequotas 1, list virtualmachineinstancemigrations 1, list virtualmachineinstances 2, patch nodeevacuations/status 1",
  ),
  "lifeboat explain node, with 100 VMs": inBoth(
    "list evacuations 2, list nodeevacuations 1, list nodes 1, list poddisruptionbudgets 1, list pods 2, list resourcequotas 1, list virtualmachineinstancemigrations 1, list virtualmachineinstances 2",
  ),
  "a scan at rest": inBoth(
    "get validatingadmissionpolicybindings 1, list evacuations 1, list nodeevacuations 2, list nodes 1, list poddisruptionbudgets 1, list rollingmaintenances 1, list virtualmachineinstances 1",
  ),
  "a scan with one Evacuation": inBoth(
    "get nodes 1, get validatingadmissionpolicybindings 1, get virtualmachineinstances 1, list evacuations 1, list nodeevacuations 2, list nodes 1, list poddisruptionbudgets 1, list rollingmaintenances 1, list virtualmachineinstancemigrations 1, list virtualmachineinstances 1",
  ),
  "a scan with a NodeEvacuation of 100 VMs": inBoth(
    "get nodes 1, get validatingadmissionpolicybindings 1, get virtualmachineinstances 4, get virtualmachines 10, list evacuations 2, list nodeevacuations 2, list nodes 1, list poddisruptionbudgets 1, list rollingmaintenances 1, list virtualmachineinstancemigrations 4, list virtualmachineinstances 2, patch nodeevacuations/status 1",
  ),
};

const ROWS = Object.entries(WAYS).flatMap(([name, way]) => FORMS.map((form) => ({ name, form, way })));

function mostOf(name: string, form: Form): ReadonlyMap<string, number> {
  const [, row] = Object.entries(MOST).find(([way]) => way === name) ?? expect.fail(`${name} has no row`);
  const rows = row[form].split(", ").map((one) => /^(.+) (\d+)$/.exec(one) ?? []);
  return new Map(rows.map(([, kind = "", most]) => [kind, Number(most)]));
}

test.each(ROWS)("$name, $form", async ({ name, form, way }) => {
  const most = mostOf(name, form);
  const cost = Object.entries(await costOf(way(), form));
  const above = cost.filter(([kind, count]) => count > (most.get(kind) ?? 0));
  expect(above.map(([kind, count]) => `${kind} ${count} instead of ${most.get(kind) ?? 0}`)).toEqual([]);
});
