/**
 * What users of kubectl, kOps, KubeOne, k0sctl, clusterctl and omnictl type, and what leads to the same here. A group of
 * this program may stand before the words. Names of commands are quoted.
 */
const WORDS_OF_PEERS: Readonly<Record<string, string>> = {
  'auth whoami': '"fairlead whoami" shows who you are to the server.',
  backup: '"fairlead etcd snapshot" backs up etcd, "fairlead etcd list" lists the snapshots.',
  'certs renew': '"fairlead certificates renew" renews certificates.',
  certs: '"fairlead certificates list" lists certificates, "fairlead certificates renew" renews them.',
  'cluster-info':
    '"fairlead cluster describe" shows a cluster, "fairlead support-bundle" collects everything about it.',
  config: '"fairlead context" chooses between servers, "fairlead kubeconfig" gets access to a cluster.',
  'config images': '"fairlead bundle inspect" lists the images of a bundle; there is no list without one.',
  debug: '"fairlead node exec" runs a command on a node, "fairlead node logs" shows the logs of its services.',
  generate: '"fairlead init" prints a manifest to start from.',
  images: '"fairlead bundle inspect" lists the images of a bundle; there is no list without one.',
  import: 'Clusters that other tools made cannot be adopted; "fairlead connection orphans" adopts machines.',
  machines: '"fairlead node list" lists nodes, also those that have not joined yet.',
  move: '"fairlead handover" moves an installation with its clusters to another one.',
  proxy: 'The API of a cluster is reached directly: "fairlead kubeconfig" gets access to it.',
  reset: '"fairlead cluster delete" deletes a cluster and gives its hosts back.',
  'rolling-update':
    '"fairlead upgrade start" changes nodes one after the other, "fairlead node replace" replaces them.',
  rollout: '"fairlead upgrade status" shows a rollout, "fairlead node replace" replaces the nodes of a pool.',
  'rollout history': '"fairlead cluster history" shows what was declared, and when.',
  'rollout pause': '"fairlead upgrade pause" pauses a rollout.',
  'rollout restart': '"fairlead node replace" replaces the nodes of a pool, "fairlead node reboot" restarts them.',
  'rollout resume': '"fairlead upgrade resume" resumes a rollout.',
  'rollout undo': '"fairlead cluster rollback" declares what an earlier generation declared.',
  scale: '"fairlead pool scale" changes the size of a pool.',
  shell: '"fairlead node exec" runs a command on a node; it has no terminal.',
  ssh: '"fairlead node exec" runs a command on a node; it has no terminal.',
  status: '"fairlead cluster describe" shows a cluster and what it waits for, "fairlead upgrade status" an upgrade.',
  support: '"fairlead support-bundle" collects what is needed to find the cause of a problem.',
  toolbox: '"fairlead support-bundle" collects what is needed to find the cause of a problem.',
  'upgrade apply': '"fairlead upgrade start" begins an upgrade, after "fairlead upgrade plan".',
  user: '"fairlead token create" gives a person access, "fairlead realm" lets users sign in at an identity provider.',
};

/** What to run instead; undefined: no other tool that we know has this command. */
export const wordsOfPeer = (group: string, [first = '', second]: readonly string[]): string | undefined =>
  [`${group} ${first}`, ...(second === undefined ? [] : [`${first} ${second}`]), first]
    .map((words) => WORDS_OF_PEERS[words])
    .find((advice) => advice !== undefined);

/** For the spec: every command that is named. */
export const commandsOfPeers = (): readonly string[] =>
  Object.values(WORDS_OF_PEERS).flatMap((advice) =>
    [...advice.matchAll(/"fairlead ([^"]+)"/g)].map(([, line]) => line!),
  );
