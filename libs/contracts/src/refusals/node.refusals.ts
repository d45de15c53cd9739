import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Nodes and requests about them. */
export const NODE_REFUSALS = {
  'drain.rule-twice': definition(
    400,
    'Two drain rules are named {rule}',
    'Give each rule a unique name; the first rule that applies to a pod decides.',
  ),
  'drain.rule-order': definition(
    400,
    'The drain rule {rule} has an order, but its pods stay (Skip)',
    'Leave the order out, or choose Drain or WaitCompleted.',
  ),
  'drain.rule-pool': definition(
    422,
    'The drain rule {rule} is about pool {pool}, which is not declared',
    'Name pools of the manifest, or control-plane.',
  ),
  'drain.detach-timeout': definition(
    400,
    'The timeout for detaching volumes cannot be {given}; the maximum is {max}',
    'Give a shorter time.',
  ),
  'nodes.nothing-to-abandon': definition(
    409,
    "No request for nodes of '{cluster}' is in progress or was kept after a failure",
    'Remove a node with DELETE /ns/{namespace}/clusters/{cluster}/nodes/{node}.',
  ),
  'node.unknown': definition(
    404,
    "The node '{node}' does not exist",
    'List them with GET /ns/{namespace}/clusters/{cluster}/nodes.',
  ),
  'node.initial-control-plane': definition(
    409,
    'The initial control plane cannot be removed through /ladybug',
    'Remove another node; outside the base path /ladybug, it can be removed like any other control plane.',
  ),
  'node.control-plane-even': definition(
    409,
    'Removing {node} would leave {after} control planes, and etcd tolerates no more failures with {after} members than with {fewer}',
    'Set spec.controlPlane.replicas of the manifest to an odd number, or replace the node. A node that is not Ready can be removed.',
  ),
  'node.quorum': definition(
    409,
    'Removing {node} would leave etcd with {after} healthy of {target} members, and it needs {majority}: {healthy} of {members} are healthy now',
    'Repair the other control planes, or add control planes, first.',
  ),
  'node.leaving': definition(409, '{node} is being removed', 'Wait until it is removed.'),
  'node.removal-not-cancellable': definition(
    409,
    'The removal of {node} cannot be cancelled: {detail}',
    'GET /ns/{namespace}/clusters/{cluster}/nodes shows which nodes leave, and why.',
  ),
  'node.being-replaced': definition(
    409,
    '{node} is being replaced',
    'Wait for it (GET /ns/{namespace}/clusters/{cluster}/operations), or abandon it (POST /ns/{namespace}/clusters/{cluster}/nodes/abandon).',
  ),
  'node.held': definition(
    409,
    '{node} is excluded from changes: {reason}',
    'End the hold first: "fairlead node unhold {cluster} {node}", or "fairlead pool unhold" if its pool is held.',
  ),
  'node.not-joined': definition(
    409,
    '{node} is not part of the cluster: the request for it failed',
    'Retry it with "fairlead cluster retry {cluster}", or abandon it with "fairlead node abandon {cluster}".',
  ),
  'node.selection-invalid': definition(
    400,
    'Select nodes by name, by pools and labels, or all of them: {detail}',
    'Specify names, or pools, labels or all, but not both.',
  ),
  'node.none-selected': definition(
    409,
    'No node of {cluster} that could be {done} matches',
    'List the nodes with GET /ns/{namespace}/clusters/{cluster}/nodes.',
  ),
  'node.action-open': definition(
    409,
    'Unable to {action} {node}: it is being {done} (operation {operation})',
    'Wait for it to end, or cancel it with POST /ns/{namespace}/clusters/{cluster}/operations/{operation}/cancel.',
  ),
  'node.exec-simulated': definition(
    403,
    "'{node}' is a simulated host: its shell runs as the user of Fairlead itself, so only administrators of all namespaces run commands there",
    'Ask an administrator of all namespaces, or use a cluster on real hosts.',
  ),
  'node.exec-busy': definition(
    409,
    '{open} commands are already running on nodes of {cluster}',
    'Wait until one of them has ended.',
  ),
  'node.exec-too-long': definition(400, 'The command is longer than {max} bytes', 'Put it into a script on the host.'),
  'node.exec-unknown': definition(
    404,
    'Command {execution} of {namespace}/{cluster} does not exist, or its output was removed',
    'Output can be read for {seconds} seconds. Run the command again.',
  ),
  'node.follow-busy': definition(
    409,
    '{open} logs of nodes of {cluster} are already being followed',
    'Stop one of them, or read the log without following it.',
  ),
  'node.logs-failed': definition(503, 'The log of {node} could not be read: {cause}', 'Check the host, and try again.'),
  'node.logs-late': definition(503, 'The log of {node} has not arrived within {seconds} seconds', 'Try again.'),
  'node.not-cordoned': definition(
    409,
    '{node} is not cordoned by Fairlead',
    'If someone else cordoned it, "kubectl uncordon" undoes that.',
  ),
  'node.action-quorum': definition(
    409,
    'Unable to {action} {node}: without it {after} of {before} control planes would be healthy, and etcd would lose its majority',
    'Repair the other control planes first.',
  ),
  'node.control-plane-unsupported': definition(
    400,
    'Control planes cannot be added by this route',
    'Add workers only.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
