import { NONE, type StreamId } from '@fairlead/contracts';

/** All connections are one stream: they are few, and belong to no namespace. */
export const CONNECTIONS_STREAM: StreamId = { namespace: NONE, cluster: NONE, context: 'wish' };
