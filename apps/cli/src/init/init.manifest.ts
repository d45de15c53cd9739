import { EVERYONE, JOINED_MACHINE_TYPE, MANIFEST_API_VERSION, MANIFEST_KIND } from '@fairlead/contracts';

/** The values of the manifest, all of them decided. */
export interface InitAnswers {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly connection: string;
  readonly machineType: string;
  readonly controlPlanes: number;
  readonly workers: number;
  readonly version: string;
  readonly cni: string;
  /** The location of the schema for editors. */
  readonly schema: string;
  readonly caution: string | undefined;
}

const poolsText = ({ workers, connection, machineType }: InitAnswers): string =>
  workers === 0
    ? '  pools: []'
    : `  pools:
    - name: workers
      replicas: ${workers}
      connection: ${connection}
      machineType: ${machineType}
      # Labels and taints are given at join, and changed on existing nodes.
      #labels: { tier: web }
      #taints: [{ key: dedicated, value: web, effect: NoSchedule }]
      # Replace nodes that stay unhealthy, one at a time.
      #health: { remediation: replace, unhealthyAfter: 5m, maxUnhealthy: 1 }
      # In place of replicas: Kubernetes' Cluster Autoscaler chooses the size within these bounds.
      # autoscaling: { min: 1, max: 5 }`;

const connectionText = ({ connection, caution }: InitAnswers): string =>
  `  # Machines of the connection ${connection}${caution === undefined ? '' : ` (${caution})`}. List: fairlead connection specs ${connection}`;

/** Hosts that join by themselves may be behind NAT. */
const firewallText = ({ machineType }: InitAnswers): string => `  firewall:
    # api: only the Kubernetes API is closed. all: every port of every node that is not listed.
    scope: api
    # Who may connect to the API, besides nodes, pods and Fairlead: networks, or ${EVERYONE}.
    api: ${machineType === JOINED_MACHINE_TYPE ? EVERYONE : '[] # e.g. [192.0.2.0/24]'}`;

/** A schedulable control plane cannot be replaced for a version. */
const REPLACE = `
    # Replace control planes for another version, instead of changing them in place.
    #rollout: { strategy: Replace }`;

/** An initial manifest. A line that begins with "#" and no space is an optional field: remove the "#" to use it. */
export const initManifest = (answers: InitAnswers): string => {
  const { name, namespace, version, cni, controlPlanes, workers, schema } = answers;
  return `# yaml-language-server: $schema=${schema}
# A cluster of Fairlead. Check it: fairlead validate -f <file>; create or change it: fairlead apply -f <file>
apiVersion: ${MANIFEST_API_VERSION}
kind: ${MANIFEST_KIND}
metadata:
  name: ${name}${namespace === undefined ? '' : `\n  namespace: ${namespace}`}
  #labels: { team: shop }
spec:
  # A change of it is an upgrade. Versions: fairlead version
  version: ${version}
  # single: all machines on one connection. multi: several, with the networks canal or kilo.
  serviceType: single
  network:
    cni: ${cni} # calico, flannel or cilium
    # Neither may overlap the network of the machines.
    podCidr: 10.244.0.0/16
    serviceCidr: 10.96.0.0/12
${connectionText(answers)}
  controlPlane:
    replicas: ${controlPlanes} # 1, 3 or 5
    connection: ${answers.connection}
    machineType: ${answers.machineType}${workers === 0 ? '\n    schedulable: true # workloads run on the only node' : REPLACE}
    # Replace a control plane that stays unhealthy.
    #health: { remediation: replace, unhealthyAfter: 10m }
${poolsText(answers)}
${firewallText(answers)}
  # How long a drain waits for pods, and what it does then.
  #drain: { timeout: 15m }
  # Snapshots of etcd.
  #etcdBackups: { schedule: "0 3 * * *", keep: 7 }
  # keep: what a failed creation has made stays for "fairlead cluster retry"; cleanup: it is deleted.
  #onFailure: cleanup
`;
};
