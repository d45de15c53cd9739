import protobuf from 'protobufjs/light.js';

/**
 * The protocol by which Cluster Autoscaler asks a provider outside of it (`--cloud-provider=externalgrpc`): names of methods, and numbers
 * and types of fields, as Cluster Autoscaler 1.33 to 1.36 sends and reads them (their .proto files: `apps/gateway/upstream`). A field is `<number> <type>`; `*` before the type is a
 * list, `%` a map by text. What is passed on as it came is `bytes`.
 */
export const SERVICE = 'clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider';

export const MESSAGES = {
  Empty: {},
  NodeGroup: { id: '1 string', minSize: '2 int32', maxSize: '3 int32', debug: '4 string' },
  NodeGroups: { nodeGroups: '1 *NodeGroup' },
  Node: { providerID: '1 string', name: '2 string' },
  NodeRequest: { node: '1 Node' },
  NodeGroupAnswer: { nodeGroup: '1 NodeGroup' },
  Group: { id: '1 string' },
  Delta: { delta: '1 int32', id: '2 string' },
  Nodes: { nodes: '1 *Node', id: '2 string' },
  Size: { targetSize: '1 int32' },
  ErrorInfo: { errorCode: '1 string', errorMessage: '2 string', instanceErrorClass: '3 int32' },
  InstanceStatus: { instanceState: '1 int32', errorInfo: '2 ErrorInfo' },
  Instance: { id: '1 string', status: '2 InstanceStatus' },
  Instances: { instances: '1 *Instance' },
  Label: { label: '1 string' },
  // A message on the wire is its bytes: clients before 1.34.2 read the same node from field 1.
  Template: { nodeInfo: '1 bytes', nodeBytes: '2 bytes' },
  OptionsRequest: { id: '1 string', defaults: '2 bytes' },
  Options: { nodeGroupAutoscalingOptions: '1 bytes' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type MessageName = keyof typeof MESSAGES;

/** The methods, with what they take and answer. */
export const METHODS = {
  NodeGroups: ['Empty', 'NodeGroups'],
  NodeGroupForNode: ['NodeRequest', 'NodeGroupAnswer'],
  PricingNodePrice: ['Empty', 'Empty'],
  PricingPodPrice: ['Empty', 'Empty'],
  GPULabel: ['Empty', 'Label'],
  GetAvailableGPUTypes: ['Empty', 'Empty'],
  Cleanup: ['Empty', 'Empty'],
  Refresh: ['Empty', 'Empty'],
  NodeGroupTargetSize: ['Group', 'Size'],
  NodeGroupIncreaseSize: ['Delta', 'Empty'],
  NodeGroupDeleteNodes: ['Nodes', 'Empty'],
  NodeGroupDecreaseTargetSize: ['Delta', 'Empty'],
  NodeGroupNodes: ['Group', 'Instances'],
  NodeGroupTemplateNodeInfo: ['Group', 'Template'],
  NodeGroupGetOptions: ['OptionsRequest', 'Options'],
} as const satisfies Readonly<Record<string, readonly [MessageName, MessageName]>>;

export type Method = keyof typeof METHODS;

export interface NodeGroup {
  readonly id: string;
  readonly minSize: number;
  readonly maxSize: number;
  readonly debug: string;
}

/** A node as Kubernetes has it. */
export interface GroupNode {
  /** `Node.spec.providerID`; of a machine that has no Node, the id of its instance. */
  readonly providerID: string;
  readonly name: string;
}

export const INSTANCE_STATES = { running: 1, creating: 2, deleting: 3 } as const;

/** The classes of errors that the client distinguishes. */
export const ERROR_CLASSES = { outOfResources: 1, other: 99 } as const;

export interface Instance {
  readonly id: string;
  readonly status: {
    readonly instanceState: number;
    /** Absent: nothing is wrong. */
    readonly errorInfo?: {
      readonly errorCode: string;
      readonly errorMessage: string;
      readonly instanceErrorClass: number;
    };
  };
}

/** What each message is to us. */
export interface Messages {
  readonly Empty: Readonly<Record<string, never>>;
  readonly NodeGroup: NodeGroup;
  readonly NodeGroups: { readonly nodeGroups: readonly NodeGroup[] };
  readonly Node: GroupNode;
  readonly NodeRequest: { readonly node?: GroupNode | null };
  readonly NodeGroupAnswer: { readonly nodeGroup: NodeGroup };
  readonly Group: { readonly id: string };
  readonly Delta: { readonly id: string; readonly delta: number };
  readonly Nodes: { readonly id: string; readonly nodes: readonly GroupNode[] };
  readonly Size: { readonly targetSize: number };
  readonly ErrorInfo: object;
  readonly InstanceStatus: object;
  readonly Instance: Instance;
  readonly Instances: { readonly instances: readonly Instance[] };
  readonly Label: { readonly label: string };
  readonly Template: { readonly nodeInfo: Uint8Array; readonly nodeBytes: Uint8Array };
  readonly OptionsRequest: { readonly id: string; readonly defaults: Uint8Array };
  readonly Options: { readonly nodeGroupAutoscalingOptions: Uint8Array };
}

const FIELD = /^(\d+) ([*%]?)(\w+)$/;

/** Types of the library, from a table in the notation above. */
export const typesOf = (
  messages: Readonly<Record<string, Readonly<Record<string, string>>>>,
): ((name: string) => protobuf.Type) => {
  const root = new protobuf.Root();
  for (const [name, fields] of Object.entries(messages)) {
    const type = new protobuf.Type(name);
    for (const [field, text] of Object.entries(fields)) {
      const [, number = '', shape, of = ''] = FIELD.exec(text) ?? [];
      type.add(
        shape === '%'
          ? new protobuf.MapField(field, Number(number), 'string', of)
          : new protobuf.Field(field, Number(number), of, shape === '*' ? 'repeated' : undefined),
      );
    }
    root.add(type);
  }
  return (name) => root.lookupType(name);
};

const typeOf = typesOf(MESSAGES);

export const encodeMessage = <Name extends MessageName>(name: Name, message: Messages[Name]): Buffer => {
  const type = typeOf(name);
  return Buffer.from(type.encode(type.fromObject(message)).finish());
};

/** Throws where the bytes are not such a message. Fields that are not known are ignored, as newer clients may send them. */
export const decodeMessage = <Name extends MessageName>(name: Name, bytes: Uint8Array): Messages[Name] => {
  const type = typeOf(name);
  return type.toObject(type.decode(bytes), { defaults: true }) as Messages[Name];
};
