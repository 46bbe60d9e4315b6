"""The local page: GET pages whose address is their whole state, over the same API as the command. Needs the extra [web]."""
