import * as z from 'zod';
import { ClusterUid, NodeName } from '../ids.js';
import { NODE_CONDITIONS_MAX, NODE_MESSAGE_MAX, NODE_PRESSURES, NodeCondition } from '../node.conditions.js';
import { FoundService, PUBLISHED_SERVICES_MAX, REFUSED_SERVICES_MAX, RefusedService } from '../published.services.js';
import { NODE_OBJECT_NAME_MAX, NODE_UID_MAX, PROVIDER_ID_MAX } from '../watch.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;

/** Maximum length of a message about an addon. */
const ADDON_MESSAGE_MAX = 300;

/** Maximum length of a message about etcd. */
const ETCD_WORDS_MAX = 1_000;

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'upgrade-svc', context: 'rollout', doc, data });

/** Anyone with access to the cluster may register a Node, and so choose this name. */
const stranger = z.string().min(1).max(NODE_OBJECT_NAME_MAX).describe('As Kubernetes names it');

/** Differences that upgrade-svc finds when it lists the Nodes of a cluster. Each change is recorded once. */
export const presenceEvents = {
  NodeMissing: fact(
    'Kubernetes has no Node object for a node that is part of the cluster. Two consecutive lists agree; an API that does not answer does not count.',
    z.strictObject({ uid, node: NodeName }),
  ),
  NodeReturned: fact(
    'Kubernetes has the Node object for a node again that was missing, or has a different one: the node was registered again between two lists.',
    z.strictObject({
      uid,
      node: NodeName,
      nodeUid: z
        .string()
        .min(1)
        .max(NODE_UID_MAX)
        .optional()
        .describe('Of the Node object; absent in events from before it was recorded'),
    }),
  ),
  NodeReadinessContradicted: fact(
    'Kubernetes lists a node as not Ready that its agent reports as Ready: it counts as not Ready until a list shows it as Ready. Two consecutive lists agree.',
    z.strictObject({
      uid,
      node: NodeName,
      message: z.string().max(NODE_MESSAGE_MAX).describe('Of its Ready condition, in the words of Kubernetes'),
    }),
  ),
  NodeReadinessConfirmed: fact(
    'Kubernetes lists a node as Ready whose report was contradicted: what its agent reports counts again.',
    z.strictObject({ uid, node: NodeName }),
  ),
  NodePressureChanged: fact(
    'The conditions that keep pods away from a node have changed in the list of Nodes. Two consecutive lists agree.',
    z.strictObject({ uid, node: NodeName, conditions: z.array(z.enum(NODE_PRESSURES)).describe('Empty: none') }),
  ),
  NodeConditionsChanged: fact(
    'The conditions of a Node have changed in the list of Nodes, apart from Ready and those of NodePressureChanged.',
    z.strictObject({ uid, node: NodeName, conditions: z.array(NodeCondition).max(NODE_CONDITIONS_MAX) }),
  ),
  NodeWithoutMachineFound: fact(
    'Kubernetes has a Node without a recorded machine.',
    z.strictObject({
      uid,
      name: stranger,
      ready: z.boolean(),
      reason: z
        .enum(['unknown-provider-id', 'duplicate-provider-id', 'no-provider-id'])
        .optional()
        .describe(
          'Why it is not a node of the cluster; absent in events from before nodes were matched by provider ID',
        ),
      providerId: z.string().max(PROVIDER_ID_MAX).optional().describe('As its kubelet registered it; absent: none'),
    }),
  ),
  NodeWithoutMachineExpired: fact(
    'A Node without a recorded machine was not Ready in any list for the whole limit: its Node object is deleted.',
    z.strictObject({ uid, name: stranger }),
  ),
  NodeWithoutMachineGone: fact(
    'Kubernetes no longer has a Node without a recorded machine, or its machine is recorded now.',
    z.strictObject({ uid, name: stranger }),
  ),
  AddonDegraded: fact(
    'What Kubernetes runs of an installed addon is missing, has no pod that is Ready, or lacks pods on nodes that are Ready. Two consecutive looks agree.',
    z.strictObject({ uid, addon: z.string(), message: z.string().max(ADDON_MESSAGE_MAX) }),
  ),
  EtcdDegraded: fact(
    'etcd has members that have not started, do not answer or belong to no control plane, alarms, or too little room. Two looks in a row agree; the whole list is stated again when it changes.',
    z.strictObject({
      uid,
      problems: z
        .array(
          z.strictObject({
            code: z.string().max(50).describe('Of the finding that it is before an upgrade, such as B3.not-started'),
            message: z.string().max(ETCD_WORDS_MAX),
            help: z.string().max(ETCD_WORDS_MAX),
          }),
        )
        .min(1)
        .max(10),
    }),
  ),
  PublishedServicesFound: fact(
    'The Services of the cluster that ask to be published have changed: all that can be, and those that cannot be.',
    z.strictObject({
      uid,
      services: z.array(FoundService).max(PUBLISHED_SERVICES_MAX),
      refused: z.array(RefusedService).max(REFUSED_SERVICES_MAX),
    }),
  ),
  EtcdRecovered: fact('Nothing of what was wrong with etcd is left.', z.strictObject({ uid })),
  AddonRecovered: fact('An addon that was degraded runs again.', z.strictObject({ uid, addon: z.string() })),
} as const;
