//! TLS for the two ends of one connection: rustls with *ring*, and a raw public key (RFC 7250) that the client knows.
//!
//! Nobody is to be kept out of a simulated path; the point is that a real handshake of a fixed size takes place.

use std::fmt::Display;
use std::sync::Arc;

use bakeoff_core::problem::Problem;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use quinn_proto::rustls::crypto::ring::{default_provider, sign::any_eddsa_type};
use quinn_proto::rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use quinn_proto::rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use quinn_proto::rustls::server::AlwaysResolvesServerRawPublicKeys;
use quinn_proto::rustls::sign::CertifiedKey;
use quinn_proto::rustls::version::TLS13;
use quinn_proto::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerIncompatible, ServerConfig, SignatureScheme,
};

/// What stands before the 32 bytes of an Ed25519 key in its PKCS #8 form (RFC 8410, section 7).
const ED25519_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// Client and server of a connection whose server has the Ed25519 key with this seed.
pub(super) fn ends(key_seed: [u8; 32]) -> Result<(QuicClientConfig, QuicServerConfig), Problem> {
    let provider = Arc::new(default_provider());
    let key = [&ED25519_PREFIX[..], &key_seed].concat();
    let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(key)).map_err(problem)?;
    let public = key.public_key().ok_or_else(|| problem("the key has no public half"))?;
    let public = CertificateDer::from(public.to_vec());
    let verifier = KnownKey { public: public.clone(), provider: Arc::clone(&provider) };

    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(problem)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(problem)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(CertifiedKey::new(
            vec![public],
            key,
        )))));
    Ok((QuicClientConfig::try_from(client).map_err(problem)?, QuicServerConfig::try_from(server).map_err(problem)?))
}

fn problem(what: impl Display) -> Problem {
    Problem::new(format!("TLS cannot be set up: {what}"))
}

/// Accepts the server with one public key.
#[derive(Debug)]
struct KnownKey {
    public: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for KnownKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let is_known = *end_entity == self.public;
        is_known.then(ServerCertVerified::assertion).ok_or(CertificateError::UnknownIssuer.into())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls13RequiredForQuic.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(cert.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
