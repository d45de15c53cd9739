export const asyncApiDocument: (version: string) => {
  readonly channels: object;
  readonly operations: object;
  readonly components: { readonly schemas: object; readonly messages: object };
};
