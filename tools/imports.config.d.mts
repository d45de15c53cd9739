declare const config: { readonly forbidden: readonly { readonly name: string }[] };
export default config;
